// Faults of our own services. control-plane-faults.test.ts lists which test covers which fault.
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { controlPlaneSupport, nodeNameOf } from "../harness/control-plane/index.ts";
import { BASE_CONFIG, COMMAND } from "../harness/extender.ts";
import { FaultTestbed, SHOP, userAgentOf } from "../harness/faults/fault-testbed.ts";
import { isOncePerChange } from "../harness/faults/step-account.ts";

interface Decision {
  readonly best: string | null;
  readonly explanation: readonly string[];
  readonly candidates: readonly { readonly score: number }[];
}

/** From the end of a fault until every object shows the truth. */
const WITHIN_MS = 20_000;
const DECIDED_WITHIN_MS = 40_000;
const BURST = 60;

const support = controlPlaneSupport(["kwok", "scheduler"]);
if (!support.supported) console.warn(`faults of our services are not tested: ${support.reason}`);

describe.runIf(support.supported)("of our services", { timeout: 120_000 }, () => {
  let testbed: FaultTestbed;
  let pods = 0;

  beforeAll(async () => {
    testbed = await FaultTestbed.start(["scheduler"]);
    const file = join(testbed.cluster.folder, "base.yaml");
    writeFileSync(file, BASE_CONFIG);
    const args = [COMMAND, "scheduler-config", file, "--url", `${testbed.plugin.url}/scheduler`];
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 });
    await Promise.all([testbed.cluster.restartScheduler(stdout), testbed.caughtUp(60_000)]);
    await untilDecided(/n4 has the highest score/);
  }, 900_000);
  afterAll(() => testbed?.close(), 60_000);

  const createPods = async (count: number): Promise<string[]> => {
    const names = Array.from({ length: count }, () => `p-${++pods}`);
    await testbed.cluster.create(names.map((name) => testbed.pod(name, "p")));
    return names;
  };

  const nodesOf = (names: readonly string[]): Promise<string[]> =>
    testbed.cluster.waitFor(
      "pods",
      (all) => {
        const found = names.map((name) => nodeNameOf(all.find(({ metadata }) => metadata.name === name)!));
        return found.includes(null) ? null : (found as string[]);
      },
      { namespace: SHOP, timeoutMs: DECIDED_WITHIN_MS },
    );

  const decisions = async (pod?: string): Promise<Decision[]> => {
    const answer = await testbed.plugin.get(`/api/v1/decisions${pod === undefined ? "" : `?pod=${pod}`}`);
    return ((await answer.json()) as { decisions: Decision[] }).decisions;
  };

  async function untilDecided(
    words: RegExp,
  ): Promise<{ readonly node: string; readonly decision: Decision }> {
    const endMs = performance.now() + DECIDED_WITHIN_MS;
    for (;;) {
      const [pod] = await createPods(1);
      const [node] = await nodesOf([pod!]);
      const [decision] = await decisions(pod);
      const said = decision?.explanation.join(" ") ?? "nothing";
      if (words.test(said)) return { node: node!, decision: decision! };
      if (performance.now() > endMs)
        throw new Error(`a decision must say ${words}, the last one says: ${said}`);
      await sleep(500);
    }
  }

  const tried = async (name: string, verb: string, resource: string): Promise<number> => {
    const agent = userAgentOf(name);
    const events = await testbed.cluster.auditEvents(
      (event) => event.userAgent === agent && event.verb === verb && event.resource === resource,
    );
    return events.length;
  };

  test("the extender is killed while pods are scheduling: that goes on, and with the extender back they land by score", async () => {
    const wrong = await testbed.through("extender killed", WITHIN_MS, async () => {
      const decided = (await decisions()).length;
      const creating = createPods(BURST);
      await expect
        .poll(async () => (await decisions()).length, { timeout: 30_000, interval: 20 })
        .toBeGreaterThan(decided + 5);
      const { port } = new URL(testbed.plugin.url);
      await testbed.kill(testbed.plugin);
      await testbed.change();
      expect(await nodesOf(await creating)).toHaveLength(BURST);
      testbed.plugin = await testbed.startPlugin("plugin-1", testbed.aggregators[0]!.url, Number(port));
    });
    expect(wrong).toEqual([]);
    expect(await untilDecided(/n4 has the highest score/)).toMatchObject({ node: "n4" });
  });

  test("two aggregators take themselves for the leader: each change is written once all the same", async () => {
    const wrong = await testbed.through("two lead", WITHIN_MS, async () => {
      // Without a Lease it assumes leadership and writes every object, like one of the two others.
      const twin = await testbed.startAggregator("twin", null);
      const telling = testbed.addListener(twin.url);
      // Wait until it takes part in the next changes.
      const looks = (): Promise<number> => tried(twin.name, "get", "networktopologies");
      await expect.poll(looks, { timeout: 30_000, interval: 250 }).toBeGreaterThan(4);
      for (let count = 0; count < 2; count++) {
        await testbed.change();
        await testbed.caughtUp(WITHIN_MS);
      }
      await telling.close();
      await testbed.kill(twin);
    });
    expect(wrong).toEqual([]);
  });

  test("the leader stands still for longer than its Lease: another one goes on, and it writes nothing when it wakes up", async () => {
    const wrong = await testbed.through("leader stands still", WITHIN_MS, async () => {
      const name = await testbed.leader();
      const leader = testbed.aggregators.find((aggregator) => aggregator.name === name)!;
      await testbed.change();
      await leader.pause();
      await expect.poll(() => testbed.leader(), { timeout: 30_000, interval: 100 }).not.toBe(name);
      await testbed.caughtUp(WITHIN_MS);
      const wokenMs = Date.now();
      leader.resume();
      await sleep(2_000);
      // Node objects have several owners. The twin becomes an owner again as soon as its own Lease is held.
      const ofTheLeader = (await testbed.writes(wokenMs)).filter(
        ({ object }) => !object.startsWith("nodes/"),
      );
      expect(ofTheLeader.filter(({ by }) => by === userAgentOf(leader.name))).toEqual([]);
      expect(await testbed.leader()).not.toBe(name);
    });
    expect(wrong).toEqual([]);
  });

  test("nobody measures any more: pods are placed, all nodes are equal to them, and decisions say why; then costs count again", async () => {
    const wrong = await testbed.through("telemetry stale", WITHIN_MS, async () => {
      testbed.source.silent = true;
      const { decision } = await untilDecided(/Nothing told them apart.*The network part is neutral/);
      expect(new Set(decision.candidates.map(({ score }) => score)).size).toBe(1);
      testbed.source.silent = false;
      await testbed.change();
    });
    expect(wrong).toEqual([]);
    expect(await untilDecided(/n4 has the highest score/)).toMatchObject({ node: "n4" });
  });

  test("the graph API is gone, for it hangs: the annotations of the nodes are used, until it is back", async () => {
    const wrong = await testbed.through("graph API gone", WITHIN_MS, async () => {
      await Promise.all(testbed.aggregators.map((aggregator) => aggregator.pause()));
      const { node, decision } = await untilDecided(/annotations of the nodes are used instead/);
      expect([node, decision.best]).toEqual(["n4", "n4"]);
      for (const aggregator of testbed.aggregators) aggregator.resume();
      await testbed.change();
    });
    expect(wrong).toEqual([]);
    expect(await untilDecided(/^n4 has the highest score(?!.*annotations)/)).toMatchObject({ node: "n4" });
  });

  test("of all that, each change was accepted once from each leader, and Events are merged", async () => {
    const account = await testbed.account();
    console.table(account);
    console.table(testbed.memory());
    expect(account.filter((step) => !isOncePerChange(step, step.name === "two lead" ? 2 : 1))).toEqual([]);
    expect(account).toHaveLength(5);
    expect(await testbed.doubled()).toEqual({ said: [], told: [] });
  });
});
