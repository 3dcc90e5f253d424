// Healthy links are still measured, and memory is bounded. See also probing-outage.paired.test.ts.
import { NamespaceLab, namespaceLabSupport } from "@isochrone/lab/namespaces";
import { systemClock } from "@isochrone/runtime";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ProbeTestbed, soon } from "../harness/faults/probe-testbed.ts";
import { Prober, engineConfig } from "../harness/prober.ts";

describe("faults around the probes", () => {
  let testbed: ProbeTestbed;
  beforeEach(async () => {
    testbed = await ProbeTestbed.start({ prefix: "127.0.21", publishMs: 100, bufferRecords: 30 });
  });
  afterEach(() => testbed?.close());

  test("a peer that dies is loss and silence for its pairs alone, and comes back", async () => {
    await testbed.stopProbe("b");
    await soon(async () => {
      const { links } = await testbed.graph();
      const lossOf = (source: string, target: string): number | null | undefined =>
        links.find((link) => link.source === source && link.target === target)?.lossRatio;
      expect(lossOf("a", "b")).toBe(1);
      expect([lossOf("a", "c"), lossOf("c", "a")]).toEqual([0, 0]);
    });
    expect(await testbed.metric("a", "isochrone_unreachable_peers")).toBe(1);
    expect(await testbed.metric("a", 'isochrone_peers{source_node="a",state="known"}')).toBe(2);
    await testbed.startProbe("b");
    await soon(async () => {
      const { links } = await testbed.graph();
      const again = links.filter(({ source, target }) => source === "b" || target === "b");
      expect(again.filter(({ lossRatio, rttMs }) => lossRatio === 0 && rttMs.p50 !== null)).toHaveLength(4);
    });
  }, 60_000);

  test("a node that leaves the cluster leaves plans and pages; a NotReady one too", async () => {
    await testbed.store.delete({ apiVersion: "v1", kind: "Pod", namespace: "isochrone", name: "probe-c" });
    await testbed.store.delete({ apiVersion: "v1", kind: "Node", name: "c" });
    await soon(async () => {
      expect(await testbed.metric("a", 'isochrone_peers{source_node="a",state="known"}')).toBe(1);
      expect(await testbed.page("a")).not.toContain('destination_node="c"');
    });
    const b = await testbed.store.get({ apiVersion: "v1", kind: "Node", name: "b" });
    const status = { conditions: [{ type: "Ready", status: "False" }] };
    await testbed.store.update({ ...b!, status }, { subresource: "status" });
    await soon(async () => {
      expect(await testbed.metric("a", 'isochrone_peers{source_node="a",state="known"}')).toBe(0);
    });
  }, 60_000);
});

const support = await namespaceLabSupport();
if (!support.supported) console.warn(`interface flaps not tested: ${support.reason}`);

test.runIf(support.supported)(
  "an interface that flaps loses what was sent meanwhile, no more, and no wrong time is measured",
  async () => {
    const lab = await NamespaceLab.create({ nodes: ["asker", "answerer"], topology: "bridge" });
    try {
      const config = engineConfig({ node: "answerer", identity: lab.address("answerer"), methods: [] });
      const common = { secret: "5a".repeat(32), busyMs: 0, busyEveryMs: 20 };
      const responder = await Prober.start(lab, "answerer", { ...common, config, peers: [] });
      const asker = await Prober.start(lab, "asker", {
        ...common,
        config: engineConfig({
          node: "asker",
          identity: lab.address("asker"),
          methods: ["icmp", "udp_rr"],
          timeoutMs: 200,
        }),
        peers: [
          {
            node: "answerer",
            zone: null,
            region: null,
            udpPort: 7411,
            tcpPort: 7411,
            bandwidthPort: null,
            address: lab.address("answerer"),
            identity: lab.address("answerer"),
          },
        ],
      });
      await systemClock.sleep(1500);
      await lab.setPlugged("asker", false);
      await systemClock.sleep(1000);
      await lab.setPlugged("asker", true);
      await systemClock.sleep(2500);
      const flows = await asker.stop();
      await responder.stop();
      expect(flows.map(({ method }) => method).toSorted()).toEqual(["icmp", "udp_rr"]);
      for (const { method, outcomes, rtt, errors } of flows) {
        const missing = outcomes.lost + outcomes.send_error;
        // One second at 100 per second, plus the time for the cable to come up.
        expect({ method, some: missing > 50, bounded: missing < 300 }).toEqual({
          method,
          some: true,
          bounded: true,
        });
        expect(outcomes.received).toBeGreaterThan(150);
        expect(rtt.max!).toBeLessThan(0.2);
        // Include the reasons, so that a failure shows them.
        expect({ errors, corrupt: outcomes.corrupt, duplicate: outcomes.duplicate }).toEqual({
          errors,
          corrupt: 0,
          duplicate: 0,
        });
      }
    } finally {
      await lab.close();
    }
  },
  60_000,
);
