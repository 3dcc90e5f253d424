import { isLibcSupported } from "@isochrone/kernel-sockets";
import { systemClock } from "@isochrone/runtime";
import { describe, expect, test } from "vitest";
import { inspectHostSockets } from "./host-sockets.ts";

describe("a look at this machine's sockets", () => {
  test.skipIf(!isLibcSupported())(
    "tries each kind of ICMP socket, and stamps a datagram to itself",
    async () => {
      const { obstacle, icmp, stamps, stampsObstacle } = await inspectHostSockets((ms) =>
        systemClock.sleep(ms),
      );
      expect(obstacle).toBeNull();
      expect(icmp.map(({ family, mode }) => `${mode} ${family}`)).toEqual([
        "datagram 4",
        "raw 4",
        "datagram 6",
        "raw 6",
      ]);
      expect(stampsObstacle).toBeNull();
      expect(typeof stamps?.receives).toBe("boolean");
    },
  );
});
