import { MemoryLogger } from "@isochrone/runtime/testing";
import { expect, test } from "vitest";
import { warnOfOpenAccess } from "./open-access.ts";

test.each([
  ["none", "0.0.0.0", false, /anyone who can reach.*pods and nodes are believed as they are told/],
  ["none", "::", true, /anyone who can reach this server.*\(scheduler\.access none\)$/],
  ["none", "127.0.0.1", false, null],
  [null, "0.0.0.0", false, null],
] as const)("access %s on %s, with a cluster: %s", (access, host, hasCluster, expected) => {
  const logger = new MemoryLogger();
  warnOfOpenAccess({ access, host }, hasCluster, logger);
  const [warning] = logger.events("warn");
  if (expected === null) expect(warning).toBeUndefined();
  else expect(warning).toMatch(expected);
});
