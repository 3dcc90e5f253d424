#!/usr/bin/env node
// `kubectl isochrone`: kubectl starts what is called kubectl-isochrone on the path. The same command, whose
// help says its name as it was called.
process.env.ISOCHRONE_COMMAND_NAME = "kubectl isochrone";
await import("./isochrone.mjs");
