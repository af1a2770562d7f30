# No cores, no usageSettings: the default density. queryType stands after readiness.
version: 1.0
builds:
  LinuxTestBuild:
    executableName: Game.x86_64
    buildPath: Builds/Server
buildConfigurations:
  LinuxBuildConfiguration:
    build: LinuxTestBuild
    binaryPath: Game.x86_64
    commandLine: -port $$port$$ -queryport $$query_port$$ -logFile $$log_dir$$/Engine.log -batchmode -nographics
    variables: {}
    readiness: false
    queryType: sqp
fleets:
  LinuxTestFleet:
    buildConfigurations:
      - LinuxBuildConfiguration
    regions:
      Europe:
        minAvailable: 0
        maxServers: 10
