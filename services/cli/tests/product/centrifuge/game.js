#!/usr/bin/env node
// A game server that knows its host by the stock Centrifuge client (npm centrifuge 2.8.x, JSON protocol version 1) and
// server.json alone. It prints one line of JSON for each thing it hears, for the test to read.
'use strict';
const fs = require('fs');
const path = require('path');
const Centrifuge = require('centrifuge');

const file = path.join(process.env.HOME, 'server.json');
const say = (what) => process.stdout.write(JSON.stringify(what) + '\n');
const server = JSON.parse(fs.readFileSync(file, 'utf8'));

const client = new Centrifuge(server.localProxyUrl.replace(/^http/, 'ws') + '/v1/connection/websocket', {
  websocket: require('ws'),
});
client.on('connect', () => say({ connected: true }));
client.on('disconnect', (context) => say({ disconnected: context }));
client.subscribe('server#' + server.serverID, {
  publish: (message) => {
    // As the C# SDK does: the file is read again with each event, so it must say the same by then.
    const now = JSON.parse(fs.readFileSync(file, 'utf8'));
    say({ event: message.data, allocatedUUID: now.allocatedUUID });
  },
  subscribe: () => say({ subscribed: true }),
  error: (context) => say({ refused: context }),
});
client.connect();
process.on('SIGTERM', () => process.exit(0));
