# Everything quoted, a Windows absolute buildPath, metal, editor-only keys, variables of several kinds, an empty key.
version: "1.0"
builds:
  "Arena Server":
    executableName: "Arena.x86_64"
    buildPath: 'D:\Projects\Arena\Builds\Linux Server'
    excludePaths:
    buildOptions: 0
    buildProfile: "Assets/Settings/Build Profiles/Linux Server.asset"
buildConfigurations:
  "Arena Ranked":
    build: "Arena Server"
    readiness: "false"
    queryType: "a2s"
    binaryPath: "Arena.x86_64"
    commandLine: "-port $$port$$ -queryport $$queryport$$ -map $$map$$ -log \"$$server_log_dir$$/Engine.log\""
    variables:
      map: harbour
      maxPlayers: 16
      ranked: true
      motd: ""
fleets:
  "Arena Fleet":
    architecture: "Amd64"
    buildConfigurations: ["Arena Ranked"]
    regions:
      "Europe": { minAvailable: "1", maxServers: "4", online: "true" }
      "South America": { online: false }
    usageSettings:
      - hardwareType: "METAL"
        maxServersPerCore: 2
        maxServersPerMachine: "8"
      - hardwareType: cloud
        machineType: AZURE-DAS
        maxServersPerMachine: 3
        fleetUsageID: 12
