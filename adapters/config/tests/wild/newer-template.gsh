# The shape of the current template: names with spaces, excludePaths, usageSettings with long comments.
version: 1.0
builds:
  my build: # replace with the name for your build
    executableName: Build.x86_64
    buildPath: Builds/Multiplay
    excludePaths: # paths to exclude from upload (supports only basic patterns)
      - Builds/Multiplay/DoNotShip/*.*
      - Builds/Multiplay/Server_Data/app.info
buildConfigurations:
  my build configuration:
    build: my build
    queryType: sqp # sqp or a2s, delete if you do not have logs to query
    binaryPath: Build.x86_64
    commandLine: -port $$port$$ -queryport $$query_port$$ -log $$log_dir$$/Engine.log
    variables: {}
fleets:
  my fleet:
    buildConfigurations:
      - my build configuration
    regions:
      North America:
        minAvailable: 0
        maxServers: 1
    usageSettings:
      - hardwareType: CLOUD #The hardware type of a machine. Can be CLOUD or METAL.
        machineType: GCP-N2 # For METAL setting: Please omit this field.
        maxServersPerMachine: 2
