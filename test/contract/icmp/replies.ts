import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { WIRE } from "./testbed.ts";
import type { IcmpUnderTest } from "./under-test.ts";

/** Longer than any loopback or veth takes, even on a busy machine. Seconds. */
const ABSURD_SECONDS = 0.2;

export function describeReplies(under: IcmpUnderTest): void {
  test("several targets of both families: every packet is answered, and timed", async () => {
    const { testbed } = under;
    const peers = [...under.peers("a", "b", "c", "d"), { node: "six", address: "FD00:9:0::2" }];
    testbed.task(under.task({ peers, zeroCheckIntervalMs: 50 }));
    await testbed.until("replies of all", () =>
      peers.every(({ node }) => (testbed.flows.get(node)?.rtt.count ?? 0) > 20),
    );
    for (const { node } of peers) {
      const { outcomes, rtt, stamps, errors } = testbed.of(node);
      expect({ errors, lost: outcomes.lost, late: outcomes.late }).toEqual({ errors: {}, lost: 0, late: 0 });
      expect(outcomes.duplicate + outcomes.corrupt + outcomes.send_error).toBe(0);
      expect(rtt.min).toBeGreaterThan(0);
      expect(rtt.quantile(0.5)).toBeLessThan(ABSURD_SECONDS);
      expect(stamps.kernel + stamps.user).toBe(rtt.count);
      // If the thread is preempted between two clock readings, the prober uses its own timestamps.
      const ofKernel = under.contract.stampedBy === "kernel";
      expect(ofKernel ? stamps.user : stamps.kernel).toBeLessThanOrEqual(ofKernel ? rtt.count / 50 : 0);
    }
    expect(testbed.prober).toBe(under.contract.prober);
    expect(testbed.zeroCheck?.received).toBeGreaterThan(5);
    expect(testbed.zeroCheck?.source).toBe(under.contract.stampedBy);
    const hops = under.contract.hops ? 0 : null;
    expect([testbed.of("a").hops, testbed.of("six").hops]).toEqual([hops, hops]);
  });

  test("the first samples are left out as warm-up", async () => {
    const { testbed } = under;
    testbed.task(under.task({ peers: under.peers("a"), warmupPackets: 3 }));
    await testbed.until("replies", () => (testbed.flows.get("a")?.outcomes.received ?? 0) > 10);
    const { outcomes, rtt } = testbed.of("a");
    expect(outcomes.discarded).toBe(3);
    expect(rtt.count).toBe(outcomes.received - 3);
  });

  test("dead targets of both families are loss, not silence, and cost the living nothing", async () => {
    const { testbed } = under;
    const dead = [
      { node: "dead4", address: WIRE.deadIp },
      { node: "dead6", address: WIRE.dead6 },
    ];
    testbed.task(under.task({ peers: [...under.peers("a"), ...dead] }));
    await testbed.until("losses", () =>
      dead.every(({ node }) => (testbed.flows.get(node)?.outcomes.lost ?? 0) > 10),
    );
    for (const { node } of dead) {
      const { outcomes, rtt } = testbed.of(node);
      expect({ received: outcomes.received, samples: rtt.count }).toEqual({ received: 0, samples: 0 });
    }
    expect(testbed.of("a").outcomes.lost).toBe(0);
  });

  describe("by a far end that misbehaves", () => {
    test("replies of another host are credited to nobody", async () => {
      const { testbed } = under;
      const [honest, asked, liar] = WIRE.farIps;
      await testbed.rule({ [honest]: {}, [asked]: { source: liar } });
      testbed.task(under.task({ peers: [...under.peers("a"), { node: "asked", address: asked }] }));
      await testbed.until("losses", () => (testbed.flows.get("asked")?.outcomes.lost ?? 0) > 10);
      const { received, corrupt } = testbed.of("asked").outcomes;
      expect(received).toBe(0);
      expect(corrupt).toBeGreaterThan(5);
      expect(testbed.of("asked").errors["wrong_source"]).toBe(corrupt);
      expect(testbed.of("a").outcomes).toMatchObject({ lost: 0, corrupt: 0 });
    });

    test("copies of a reply are duplicates", async () => {
      const { testbed } = under;
      await testbed.rule({ [WIRE.farIps[0]]: { copies: 3 } });
      testbed.task(under.task({ peers: under.peers("a") }));
      await testbed.until("duplicates", () => (testbed.flows.get("a")?.outcomes.duplicate ?? 0) > 20);
      const { received, duplicate, lost } = testbed.of("a").outcomes;
      expect(lost).toBe(0);
      expect(Math.abs(duplicate - 2 * received)).toBeLessThanOrEqual(4);
    });

    test("a reply after the timeout is a loss, and late beside it", async () => {
      const { testbed } = under;
      await testbed.rule({ [WIRE.farIps[0]]: { delayMs: 150 }, [WIRE.farIps[1]]: { delayMs: 30 } });
      testbed.task(under.task({ peers: under.peers("a", "b"), timeoutMs: 100 }));
      await testbed.until("late replies", () => (testbed.flows.get("a")?.outcomes.late ?? 0) > 10);
      expect(testbed.of("a").outcomes.received).toBe(0);
      expect(testbed.of("a").outcomes.lost).toBeGreaterThanOrEqual(testbed.of("a").outcomes.late);
      expect(testbed.of("a").rtt.count).toBe(0);
      expect(testbed.of("b").outcomes.late).toBeLessThanOrEqual(testbed.of("b").outcomes.received / 5);
      expect(testbed.of("b").rtt.min).toBeGreaterThan(0.029);
    });

    test("half of the replies missing: loss is counted packet by packet", async () => {
      const { testbed } = under;
      await testbed.rule({ [WIRE.farIps[0]]: {} });
      testbed.task(under.task({ peers: under.peers("a") }));
      await testbed.until("replies", () => (testbed.flows.get("a")?.outcomes.received ?? 0) > 20);
      await testbed.rule({});
      await testbed.until("losses", () => testbed.of("a").outcomes.lost > 20);
      await testbed.rule({ [WIRE.farIps[0]]: {} });
      const { received } = testbed.of("a").outcomes;
      await testbed.until("replies again", () => testbed.of("a").outcomes.received > received + 20);
      const requests = await testbed.requests();
      await delay(500);
      await testbed.look();
      const { sent, received: all, lost } = testbed.of("a").outcomes;
      expect(sent - all - lost).toBeGreaterThanOrEqual(0);
      expect(sent - all - lost).toBeLessThan(20);
      expect(requests).toBeGreaterThan(0);
    });

    test.skipIf(!under.contract.seesDamage)(
      "a reply with an altered byte is corrupt, and no sample",
      async () => {
        const { testbed } = under;
        await testbed.rule({ [WIRE.farIps[0]]: { alteredByte: 50 }, [WIRE.farIps[1]]: { alteredByte: 17 } });
        testbed.task(under.task({ peers: under.peers("a", "b") }));
        await testbed.until("corrupt replies", () =>
          ["a", "b"].every((node) => (testbed.flows.get(node)?.outcomes.corrupt ?? 0) > 10),
        );
        for (const node of ["a", "b"]) {
          expect(testbed.of(node).outcomes.received).toBe(0);
          expect(testbed.of(node).rtt.count).toBe(0);
          expect(testbed.of(node).errors["bad_payload"]).toBe(testbed.of(node).outcomes.corrupt);
        }
      },
    );

    test.skipIf(!under.contract.unreachable)(
      "a router that says unreachable is the reason of the loss",
      async () => {
        const { testbed } = under;
        testbed.task(
          under.task({ peers: [...under.peers("a"), { node: "beyond", address: WIRE.unreachable }] }),
        );
        await testbed.until("losses", () => (testbed.flows.get("beyond")?.outcomes.lost ?? 0) > 10);
        const { outcomes, errors } = testbed.of("beyond");
        expect(outcomes.received).toBe(0);
        // The far end's kernel rate-limits these: a burst of five, then one per second.
        expect(errors[under.contract.unreachable as string]).toBeGreaterThanOrEqual(3);
      },
    );
  });
}
