import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { WIRE } from "./testbed.ts";
import type { IcmpUnderTest } from "./under-test.ts";

export function describeSending(under: IcmpUnderTest): void {
  test("the schedule is kept: neither more nor fewer packets than asked for", async () => {
    const { testbed } = under;
    const before = await testbed.requests();
    testbed.task(under.task({ peers: under.peers("a", "b"), intervalMs: 50 }));
    await testbed.until(
      "the first replies",
      () => testbed.flows.size === 2 && testbed.of("b").outcomes.received > 0,
    );
    const firstMs = performance.now();
    const first = await testbed.requests();
    await delay(2000);
    const counted = (await testbed.requests()) - first;
    const expected = (2 * (performance.now() - firstMs)) / 50;
    expect(first).toBeGreaterThan(before);
    expect(counted).toBeGreaterThan(expected * 0.5);
    expect(counted).toBeLessThan(expected * 1.1 + 4);
  });

  test("packets have the size and the code point that were asked for", async () => {
    const { testbed } = under;
    for (const [dscp, payloadBytes] of [
      [0, 56],
      [46, 32],
      [10, 1400],
    ] as const) {
      testbed.task(under.task({ peers: under.peers("a"), dscp, payloadBytes }));
      let seen = { tos: -1, payloadBytes: -1 };
      await testbed.until("replies to such packets", () => {
        void testbed.counted().then((counted) => (seen = counted));
        const right = seen.tos === dscp << 2 && seen.payloadBytes === payloadBytes;
        return right && (testbed.flows.get("a")?.outcomes.received ?? 0) > 5;
      });
      expect(testbed.of("a").outcomes).toMatchObject({ lost: 0, corrupt: 0, duplicate: 0 });
      await testbed.stop();
    }
  });

  test("targets come and go, and those that stay lose nothing", async () => {
    const { testbed } = under;
    testbed.task(under.task({ peers: under.peers("a", "b") }));
    await testbed.until("replies of both", () =>
      ["a", "b"].every((node) => (testbed.flows.get(node)?.outcomes.received ?? 0) > 5),
    );
    testbed.task(under.task({ peers: under.peers("b", "c") }));
    await testbed.until("replies of the new one", () => (testbed.flows.get("c")?.outcomes.received ?? 0) > 5);
    const ofA = testbed.of("a").outcomes.sent;
    await testbed.until("more replies", () => testbed.of("c").outcomes.received > 30);
    expect(testbed.reported.toSorted()).toEqual(["b", "c"]);
    expect(testbed.of("a").outcomes.sent).toBeLessThan(ofA + 20);
    for (const node of ["b", "c"]) {
      const { lost, duplicate, send_error: refused } = testbed.of(node).outcomes;
      expect({ lost, duplicate, refused }).toEqual({ lost: 0, duplicate: 0, refused: 0 });
    }
  });

  test("a target without a route is not silence: every send is an error", async () => {
    const { testbed } = under;
    testbed.task(under.task({ peers: [...under.peers("a"), { node: "nowhere", address: WIRE.nowhere }] }));
    await testbed.until("send errors", () => (testbed.flows.get("nowhere")?.outcomes.send_error ?? 0) > 5);
    const { sent, received, lost } = testbed.of("nowhere").outcomes;
    expect({ sent, received, lost }).toEqual({ sent: 0, received: 0, lost: 0 });
    expect(testbed.of("a").outcomes.received).toBeGreaterThan(0);
    expect(testbed.of("a").outcomes.lost).toBe(0);
    expect(testbed.of("nowhere").errors[under.contract.refusal]).toBeGreaterThan(5);
  });

  test("the interface goes away and comes back: probing goes on by itself", async () => {
    const { testbed } = under;
    testbed.task(under.task({ peers: under.peers("a") }));
    await testbed.until("replies", () => (testbed.flows.get("a")?.outcomes.received ?? 0) > 5);
    testbed.cut();
    const failed = (): number => testbed.of("a").outcomes.send_error + testbed.of("a").outcomes.lost;
    await testbed.until("failures", () => failed() > 5);
    testbed.mend();
    const { received } = testbed.of("a").outcomes;
    await testbed.until("replies again", () => testbed.of("a").outcomes.received > received + 20);
    expect(testbed.prober).toBe(under.contract.prober);
  });

  test("after close nothing is sent, and no process is left", async () => {
    const { testbed } = under;
    testbed.task(under.task({ peers: under.peers("a") }));
    await testbed.until("replies", () => (testbed.flows.get("a")?.outcomes.received ?? 0) > 5);
    await testbed.stop();
    const sent = await testbed.requests();
    await delay(300);
    expect(await testbed.requests()).toBe(sent);
    expect(testbed.children()).toEqual([]);
  });

  test.skipIf(under.contract.process === null)(
    "a prober that is killed is started anew, and that is counted",
    async () => {
      const { testbed } = under;
      testbed.task(under.task({ peers: under.peers("a") }));
      await testbed.until("replies", () => (testbed.flows.get("a")?.outcomes.received ?? 0) > 5);
      const { received } = testbed.of("a").outcomes;
      const [child] = testbed.children().filter(({ name }) => name === under.contract.process);
      expect(child).toBeDefined();
      process.kill(child?.pid as number, "SIGKILL");
      await testbed.until("replies of the next", () => testbed.of("a").outcomes.received > received + 10);
      expect(testbed.restarts).toBe(1);
      expect(testbed.log.filter(({ level }) => level === "warn").map(({ event }) => event)).toEqual([
        "ICMP prober died",
      ]);
      expect(testbed.children().map(({ pid }) => pid)).not.toContain(child?.pid);
    },
  );
}
