# The shape of the first template: cores, speedMhz and memoryMiB, no usageSettings, comments kept.
version: 1.0
builds:
  LinuxBuild: # replace with the name for your build
    executableName: Arena.x86_64 # the name of your build executable
    buildPath: Builds/Server # the location of the build files
buildConfigurations:
  LinuxConfiguration: # replace with the name for your build configuration
    build: LinuxBuild # replace with the name for your build
    binaryPath: Arena.x86_64 # the name of your build executable
    commandLine: -port $$port$$ -queryport $$query_port$$ -logFile $$log_dir$$/Engine.log -batchmode -nographics   # launch parameters
    variables: {}
    cores: 1 # number of cores per server
    speedMhz: 750 # launch parameters for your server
    memoryMiB: 800 # launch parameters for your server
fleets:
  LinuxFleet: # replace with the name for your fleet
    buildConfigurations:
      - LinuxConfiguration # replace with the names of your build configuration
    regions:
      Europe: # North America, Europe, Asia, South America, Australia
        minAvailable: 0 # minimum number of servers running in the region
        maxServers: 10 # maximum number of servers running in the region
