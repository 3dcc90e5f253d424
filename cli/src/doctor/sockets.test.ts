import { createRequire } from "node:module";
import { describe, expect, it } from "vitest";
import { judgeSockets, lookAtSockets, type SocketFacts } from "./sockets.ts";

const FINE: SocketFacts = {
  obstacle: null,
  icmp: [],
  netPing: null,
  pingGroupRange: null,
  bound: { UDP: null, TCP: null },
};

const netPingOf = (facts: SocketFacts) => judgeSockets(facts).find(({ check }) => check === "net-ping")!;

describe("net-ping", () => {
  it.each([
    ["isn't missed where the kernel's sockets can be used", null, "info"],
    ["is missed where they can't", "no koffi", "warning"],
  ] as const)("whose native part isn't built %s, and how to build it is said", (_, obstacle, severity) => {
    const netPing = "the native part of net-ping is not built: npm run build:net-ping builds it";
    const finding = netPingOf({ ...FINE, obstacle, netPing });
    expect(finding).toMatchObject({ severity, value: netPing });
    expect(finding.remedy).toContain("npm run build:net-ping");
    expect(finding.remedy).toContain("--build-arg NET_PING=yes");
  });

  it("is fine where it is built", () => {
    expect(netPingOf(FINE)).toMatchObject({ severity: "ok", remedy: null });
  });

  it("is looked for as this machine has it", async () => {
    const isBuilt = ((): boolean => {
      try {
        createRequire(import.meta.url)("net-ping");
        return true;
      } catch {
        return false;
      }
    })();
    const { netPing } = await lookAtSockets();
    expect(netPing === null).toBe(isBuilt);
  });
});
