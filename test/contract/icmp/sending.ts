import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { WIRE } from "./ground.ts";
import type { IcmpUnderTest } from "./under-test.ts";

/** When, whom and how often is asked. */
export function describeSending(under: IcmpUnderTest): void {
  test("the schedule is kept: neither more nor fewer packets than asked for", async () => {
    const { ground } = under;
    const before = await ground.requests();
    ground.task(under.task({ peers: under.peers("a", "b"), intervalMs: 50 }));
    await ground.until(
      "the first replies",
      () => ground.flows.size === 2 && ground.of("b").outcomes.received > 0,
    );
    const firstMs = performance.now();
    const first = await ground.requests();
    await delay(2000);
    const counted = (await ground.requests()) - first;
    const expected = (2 * (performance.now() - firstMs)) / 50;
    expect(first).toBeGreaterThan(before);
    expect(counted).toBeGreaterThan(expected * 0.5);
    expect(counted).toBeLessThan(expected * 1.1 + 4);
  });

  test("packets have the size and the code point that were asked for", async () => {
    const { ground } = under;
    for (const [dscp, payloadBytes] of [
      [0, 56],
      [46, 32],
      [10, 1400],
    ] as const) {
      ground.task(under.task({ peers: under.peers("a"), dscp, payloadBytes }));
      let seen = { tos: -1, payloadBytes: -1 };
      await ground.until("replies to such packets", () => {
        void ground.counted().then((counted) => (seen = counted));
        const right = seen.tos === dscp << 2 && seen.payloadBytes === payloadBytes;
        return right && (ground.flows.get("a")?.outcomes.received ?? 0) > 5;
      });
      expect(ground.of("a").outcomes).toMatchObject({ lost: 0, corrupt: 0, duplicate: 0 });
      await ground.stop();
    }
  });

  test("targets come and go, and those that stay lose nothing", async () => {
    const { ground } = under;
    ground.task(under.task({ peers: under.peers("a", "b") }));
    await ground.until("replies of both", () =>
      ["a", "b"].every((node) => (ground.flows.get(node)?.outcomes.received ?? 0) > 5),
    );
    ground.task(under.task({ peers: under.peers("b", "c") }));
    await ground.until("replies of the new one", () => (ground.flows.get("c")?.outcomes.received ?? 0) > 5);
    const ofA = ground.of("a").outcomes.sent;
    await ground.until("more replies", () => ground.of("c").outcomes.received > 30);
    expect(ground.reported.toSorted()).toEqual(["b", "c"]);
    expect(ground.of("a").outcomes.sent).toBeLessThan(ofA + 20);
    for (const node of ["b", "c"]) {
      const { lost, duplicate, send_error: refused } = ground.of(node).outcomes;
      expect({ lost, duplicate, refused }).toEqual({ lost: 0, duplicate: 0, refused: 0 });
    }
  });

  test("a target without a route is not silence: every send is an error", async () => {
    const { ground } = under;
    ground.task(under.task({ peers: [...under.peers("a"), { node: "nowhere", address: WIRE.nowhere }] }));
    await ground.until("send errors", () => (ground.flows.get("nowhere")?.outcomes.send_error ?? 0) > 5);
    const { sent, received, lost } = ground.of("nowhere").outcomes;
    expect({ sent, received, lost }).toEqual({ sent: 0, received: 0, lost: 0 });
    expect(ground.of("a").outcomes.received).toBeGreaterThan(0);
    expect(ground.of("a").outcomes.lost).toBe(0);
    expect(ground.of("nowhere").errors[under.contract.refusal]).toBeGreaterThan(5);
  });

  test("the interface goes away and comes back: probing goes on by itself", async () => {
    const { ground } = under;
    ground.task(under.task({ peers: under.peers("a") }));
    await ground.until("replies", () => (ground.flows.get("a")?.outcomes.received ?? 0) > 5);
    ground.cut();
    const failed = (): number => ground.of("a").outcomes.send_error + ground.of("a").outcomes.lost;
    await ground.until("failures", () => failed() > 5);
    ground.mend();
    const { received } = ground.of("a").outcomes;
    await ground.until("replies again", () => ground.of("a").outcomes.received > received + 20);
    expect(ground.prober).toBe(under.contract.prober);
  });

  test("after close nothing is sent, and no process is left", async () => {
    const { ground } = under;
    ground.task(under.task({ peers: under.peers("a") }));
    await ground.until("replies", () => (ground.flows.get("a")?.outcomes.received ?? 0) > 5);
    await ground.stop();
    const sent = await ground.requests();
    await delay(300);
    expect(await ground.requests()).toBe(sent);
    expect(ground.children()).toEqual([]);
  });

  test.skipIf(under.contract.process === null)(
    "a prober that is killed is started anew, and that is counted",
    async () => {
      const { ground } = under;
      ground.task(under.task({ peers: under.peers("a") }));
      await ground.until("replies", () => (ground.flows.get("a")?.outcomes.received ?? 0) > 5);
      const { received } = ground.of("a").outcomes;
      const [child] = ground.children().filter(({ name }) => name === under.contract.process);
      expect(child).toBeDefined();
      process.kill(child?.pid as number, "SIGKILL");
      await ground.until("replies of the next", () => ground.of("a").outcomes.received > received + 10);
      expect(ground.restarts).toBe(1);
      expect(ground.log.filter(({ level }) => level === "warn").map(({ event }) => event)).toEqual([
        "ICMP prober died",
      ]);
      expect(ground.children().map(({ pid }) => pid)).not.toContain(child?.pid);
    },
  );
}
