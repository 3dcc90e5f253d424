import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { WIRE } from "./ground.ts";
import type { IcmpUnderTest } from "./under-test.ts";

/** More than any loopback or veth ever takes, even on a busy machine. Seconds. */
const ABSURD_SECONDS = 0.2;

/** What is made of what comes back, or doesn't. */
export function describeReplies(under: IcmpUnderTest): void {
  test("several targets of both families: every packet is answered, and timed", async () => {
    const { ground } = under;
    const peers = [...under.peers("a", "b", "c", "d"), { node: "six", address: "FD00:9:0::2" }];
    ground.task(under.task({ peers, zeroCheckIntervalMs: 50 }));
    await ground.until("replies of all", () =>
      peers.every(({ node }) => (ground.flows.get(node)?.rtt.count ?? 0) > 20),
    );
    for (const { node } of peers) {
      const { outcomes, rtt, stamps, errors } = ground.of(node);
      expect({ errors, lost: outcomes.lost, late: outcomes.late }).toEqual({ errors: {}, lost: 0, late: 0 });
      expect(outcomes.duplicate + outcomes.corrupt + outcomes.send_error).toBe(0);
      expect(rtt.min).toBeGreaterThan(0);
      expect(rtt.quantile(0.5)).toBeLessThan(ABSURD_SECONDS);
      expect(stamps.kernel + stamps.user).toBe(rtt.count);
      // Rarely a busy machine puts the thread aside between two readings of its clocks; then its own stamps are taken.
      const ofKernel = under.contract.stampedBy === "kernel";
      expect(ofKernel ? stamps.user : stamps.kernel).toBeLessThanOrEqual(ofKernel ? rtt.count / 50 : 0);
    }
    expect(ground.prober).toBe(under.contract.prober);
    expect(ground.zeroCheck?.received).toBeGreaterThan(5);
    expect(ground.zeroCheck?.source).toBe(under.contract.stampedBy);
    const hops = under.contract.hops ? 0 : null;
    expect([ground.of("a").hops, ground.of("six").hops]).toEqual([hops, hops]);
  });

  test("the first samples are left out as warm-up", async () => {
    const { ground } = under;
    ground.task(under.task({ peers: under.peers("a"), warmupPackets: 3 }));
    await ground.until("replies", () => (ground.flows.get("a")?.outcomes.received ?? 0) > 10);
    const { outcomes, rtt } = ground.of("a");
    expect(outcomes.discarded).toBe(3);
    expect(rtt.count).toBe(outcomes.received - 3);
  });

  test("dead targets of both families are loss, not silence, and cost the living nothing", async () => {
    const { ground } = under;
    const dead = [
      { node: "dead4", address: WIRE.deadIp },
      { node: "dead6", address: WIRE.dead6 },
    ];
    ground.task(under.task({ peers: [...under.peers("a"), ...dead] }));
    await ground.until("losses", () =>
      dead.every(({ node }) => (ground.flows.get(node)?.outcomes.lost ?? 0) > 10),
    );
    for (const { node } of dead) {
      const { outcomes, rtt } = ground.of(node);
      expect({ received: outcomes.received, samples: rtt.count }).toEqual({ received: 0, samples: 0 });
    }
    expect(ground.of("a").outcomes.lost).toBe(0);
  });

  describe("by a far end that misbehaves", () => {
    test("replies of another host are credited to nobody", async () => {
      const { ground } = under;
      const [honest, asked, liar] = WIRE.farIps;
      await ground.rule({ [honest]: {}, [asked]: { source: liar } });
      ground.task(under.task({ peers: [...under.peers("a"), { node: "asked", address: asked }] }));
      await ground.until("losses", () => (ground.flows.get("asked")?.outcomes.lost ?? 0) > 10);
      const { received, corrupt } = ground.of("asked").outcomes;
      expect(received).toBe(0);
      expect(corrupt).toBeGreaterThan(5);
      expect(ground.of("asked").errors["wrong_source"]).toBe(corrupt);
      expect(ground.of("a").outcomes).toMatchObject({ lost: 0, corrupt: 0 });
    });

    test("copies of a reply are duplicates", async () => {
      const { ground } = under;
      await ground.rule({ [WIRE.farIps[0]]: { copies: 3 } });
      ground.task(under.task({ peers: under.peers("a") }));
      await ground.until("duplicates", () => (ground.flows.get("a")?.outcomes.duplicate ?? 0) > 20);
      const { received, duplicate, lost } = ground.of("a").outcomes;
      expect(lost).toBe(0);
      expect(Math.abs(duplicate - 2 * received)).toBeLessThanOrEqual(4);
    });

    test("a reply after the timeout is a loss, and late beside it", async () => {
      const { ground } = under;
      await ground.rule({ [WIRE.farIps[0]]: { delayMs: 150 }, [WIRE.farIps[1]]: { delayMs: 30 } });
      ground.task(under.task({ peers: under.peers("a", "b"), timeoutMs: 100 }));
      await ground.until("late replies", () => (ground.flows.get("a")?.outcomes.late ?? 0) > 10);
      expect(ground.of("a").outcomes.received).toBe(0);
      expect(ground.of("a").outcomes.lost).toBeGreaterThanOrEqual(ground.of("a").outcomes.late);
      expect(ground.of("a").rtt.count).toBe(0);
      expect(ground.of("b").outcomes.late).toBeLessThanOrEqual(ground.of("b").outcomes.received / 5);
      expect(ground.of("b").rtt.min).toBeGreaterThan(0.029);
    });

    test("half of the replies missing: loss is counted packet by packet", async () => {
      const { ground } = under;
      await ground.rule({ [WIRE.farIps[0]]: {} });
      ground.task(under.task({ peers: under.peers("a") }));
      await ground.until("replies", () => (ground.flows.get("a")?.outcomes.received ?? 0) > 20);
      await ground.rule({});
      await ground.until("losses", () => ground.of("a").outcomes.lost > 20);
      await ground.rule({ [WIRE.farIps[0]]: {} });
      const { received } = ground.of("a").outcomes;
      await ground.until("replies again", () => ground.of("a").outcomes.received > received + 20);
      const requests = await ground.requests();
      await delay(500);
      await ground.look();
      const { sent, received: all, lost } = ground.of("a").outcomes;
      expect(sent - all - lost).toBeGreaterThanOrEqual(0);
      expect(sent - all - lost).toBeLessThan(20);
      expect(requests).toBeGreaterThan(0);
    });

    test.skipIf(!under.contract.seesDamage)(
      "a reply with an altered byte is corrupt, and no sample",
      async () => {
        const { ground } = under;
        await ground.rule({ [WIRE.farIps[0]]: { alteredByte: 50 }, [WIRE.farIps[1]]: { alteredByte: 17 } });
        ground.task(under.task({ peers: under.peers("a", "b") }));
        await ground.until("corrupt replies", () =>
          ["a", "b"].every((node) => (ground.flows.get(node)?.outcomes.corrupt ?? 0) > 10),
        );
        for (const node of ["a", "b"]) {
          expect(ground.of(node).outcomes.received).toBe(0);
          expect(ground.of(node).rtt.count).toBe(0);
          expect(ground.of(node).errors["bad_payload"]).toBe(ground.of(node).outcomes.corrupt);
        }
      },
    );

    test.skipIf(!under.contract.unreachable)(
      "a router that says unreachable is the reason of the loss",
      async () => {
        const { ground } = under;
        ground.task(
          under.task({ peers: [...under.peers("a"), { node: "beyond", address: WIRE.unreachable }] }),
        );
        await ground.until("losses", () => (ground.flows.get("beyond")?.outcomes.lost ?? 0) > 10);
        const { outcomes, errors } = ground.of("beyond");
        expect(outcomes.received).toBe(0);
        // The kernel of the far end is sparing with these: five at once, then one a second.
        expect(errors[under.contract.unreachable as string]).toBeGreaterThanOrEqual(3);
      },
    );
  });
}
