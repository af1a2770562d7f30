// PlayFab's SDK for Node, as it is published: one call a line of standard input, its outcome a line of standard output.
const settings = require("playfab-sdk");
const readline = require("node:readline");

const modules = {
  Client: settings.PlayFabClient,
  Authentication: require("playfab-sdk/Scripts/PlayFab/PlayFabAuthentication.js"),
  Data: require("playfab-sdk/Scripts/PlayFab/PlayFabData.js"),
  Multiplayer: require("playfab-sdk/Scripts/PlayFab/PlayFabMultiplayer.js"),
  Server: settings.PlayFabServer,
};
const PlayFab = settings.PlayFab;
PlayFab.settings.productionUrl = process.argv[2];
PlayFab.settings.titleId = process.argv[3];

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const { module, call, request, as } = JSON.parse(line);
  PlayFab._internalSettings.entityToken = as.entityToken ?? null;
  PlayFab._internalSettings.sessionTicket = as.sessionTicket ?? null;
  PlayFab.settings.developerSecretKey = as.secret ?? null;
  modules[module][call](request, (error, result) => {
    console.log(JSON.stringify(error ? { error } : { data: result.data }));
  });
});
