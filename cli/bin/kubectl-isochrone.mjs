#!/usr/bin/env node
// `kubectl isochrone`: kubectl runs a program kubectl-isochrone on the path. Help shows the name as called.
process.env.ISOCHRONE_COMMAND_NAME = "kubectl isochrone";
await import("./isochrone.mjs");
