// For each message, moves the given number of pods and builds a graph. Sends its address to the parent.
import { aggregatorSettings, createAggregator } from "@isochrone/aggregator";
import { createMemoryBus } from "@isochrone/bus/memory";
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, loadSettings, systemRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";

const WORKFLOWS = 2_000;
const PODS_PER_WORKFLOW = 50;
const WORKLOADS = 5;
const BUILD_MS = 10_000;

function pod(workflow: number, index: number, life: number): KubernetesObject {
  return {
    ...KINDS.pod,
    metadata: {
      namespace: `ns-${workflow % 100}`,
      name: `w${workflow}-${index}-${life}`,
      labels: { "isochrone.dev/workflow": `flow-${workflow}` },
      ownerReferences: [
        {
          apiVersion: "apps/v1",
          kind: "StatefulSet",
          name: `w${workflow}-${index % WORKLOADS}`,
          uid: `u-${workflow}-${index % WORKLOADS}`,
          controller: true,
        },
      ],
    },
    spec: { nodeName: `node-${(workflow * 7 + index * 13 + life) % 5_000}`, containers: [{ name: "main" }] },
    status: { phase: "Running" },
  };
}

if (process.send !== undefined) {
  const clock = new ManualClock();
  const store = createMemoryStore({ clock });
  for (let workflow = 0; workflow < WORKFLOWS; workflow++)
    for (let index = 0; index < PODS_PER_WORKFLOW; index++) await store.create(pod(workflow, index, 0));
  const { aggregator: config } = loadSettings([aggregatorSettings], {
    env: {},
    file: { aggregator: { host: "127.0.0.1", port: 0, buildIntervalMs: BUILD_MS } },
  });
  const aggregator = createAggregator(config, {
    bus: createMemoryBus({ clock }),
    store,
    clock,
    random: systemRandom,
    logger: new MemoryLogger(),
    registry: createRegistry(),
  });
  await aggregator.start();
  await clock.advance(0);
  let life = 0;
  process.on("message", (moved: number) => {
    void (async () => {
      life++;
      for (let index = 0; index < moved; index++) {
        const workflow = (life * moved + index) % WORKFLOWS;
        await store.create(pod(workflow, PODS_PER_WORKFLOW, life));
      }
      await clock.advance(BUILD_MS);
      process.send!("built");
    })();
  });
  process.on("disconnect", () => process.exit());
  process.send(aggregator.address().url);
}
