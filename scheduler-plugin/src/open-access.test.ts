import { MemoryLogger } from "@isochrone/runtime/testing";
import { expect, test } from "vitest";
import { warnOfOpenAccess } from "./open-access.ts";

test.each([
  ["none", "0.0.0.0", false, /anyone who can reach.*pods and nodes are believed as they are told/],
  ["none", "::", true, /anyone who can reach this server.*\(scheduler\.access none\)$/],
  ["none", "127.0.0.1", false, /^$/],
  [null, "0.0.0.0", false, /^$/],
] as const)("access %s on %s, with a cluster: %s", (access, host, hasCluster, expected) => {
  const logger = new MemoryLogger();
  warnOfOpenAccess({ access, host }, hasCluster, logger);
  expect(logger.events("warn").join()).toMatch(expected);
});
