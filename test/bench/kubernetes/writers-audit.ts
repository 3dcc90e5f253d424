// node tools/node24.mjs test/bench/kubernetes/writers-audit.ts [nodes 5000] [minutes 11] [lead, seconds 180]
// Annotation times are spread evenly over one refresh, as in the steady state.
import { FIELD_MANAGER } from "@isochrone/aggregator/testing";
import { KINDS } from "@isochrone/kubernetes";
import { createApiServerStore } from "@isochrone/kubernetes/api-server";
import { seededRandom, systemClock, systemRandom } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { writeNodeAnnotations } from "@isochrone/topology";
import { startControlPlane } from "../../harness/control-plane/index.ts";
import { graphNode, WriterTestbed } from "../../harness/writers.ts";

const MINUTE_MS = 60_000;
/** Slightly less than the maximum age of an annotation. */
const SPREAD_MS = 575_000;
/** Initial annotation takes time, so ages count from this much later, when the writers start. */
const LEAD_MS = Number(process.argv[4] ?? 180) * 1_000;
const AT_ONCE = 50;
const JITTER = 0.03;

const nodes = Number(process.argv[2] ?? 5000);
const minutes = Number(process.argv[3] ?? 11);
const random = seededRandom(1);
const cluster = await startControlPlane({ audit: true });
try {
  await cluster.addNodes(nodes);
  const logger = new MemoryLogger();
  const store = createApiServerStore({
    credentials: { kubeconfig: cluster.kubeconfig },
    clock: systemClock,
    random: systemRandom,
    logger,
    qps: 1000,
    burst: 1000,
    userAgent: "isochrone-writers",
  });
  const names = Array.from({ length: nodes }, (_, index) => `node-${index}`);
  const places = names.map(() => [random.next() * 80, random.next() * 40, random.next() * 10, 0, 1]);
  const plannedMs = Date.now() + LEAD_MS;
  for (let at = 0; at < nodes; at += AT_ONCE) {
    await Promise.all(
      names.slice(at, at + AT_ONCE).map((name, index) => {
        const { availableCpuMillicores, availableMemoryBytes } = graphNode(name);
        const figures = { availableCpuMillicores, availableMemoryBytes, coordinate: places[at + index]! };
        const observedAtMs = plannedMs - random.next() * SPREAD_MS;
        const texts = writeNodeAnnotations({ ...figures, networkCostsMs: new Map() }, observedAtMs);
        const annotations = Object.fromEntries(
          [...texts].map(([key, text]) => [`isochrone.dev/${key}`, text]),
        );
        return store.apply(
          { ...KINDS.node, metadata: { name, annotations } },
          { fieldManager: FIELD_MANAGER },
        );
      }),
    );
  }
  console.log(`${nodes} nodes are annotated, ${Math.round((plannedMs - Date.now()) / 1000)} s to spare`);
  await systemClock.sleep(Math.max(0, plannedMs - Date.now()));
  const testbed = new WriterTestbed({ store, clock: systemClock, logger });
  const measure = (): void => {
    const jitter = (): number => 1 + JITTER * (random.next() - 0.5);
    testbed.nodes = names.map((name, index) =>
      graphNode(name, {
        availableCpuMillicores: 2000 * jitter(),
        coordinate: places[index]!.map((ms) => ms * jitter()),
      }),
    );
  };
  measure();
  const beganMs = Date.now();
  await testbed.start();
  for (let minute = 1; minute <= minutes; minute++) {
    await systemClock.sleep(beganMs + minute * MINUTE_MS - Date.now());
    measure();
    // Before the list and well before the audit log, which is slow on a busy machine.
    const lookedMs = Date.now();
    const { items } = await store.list(KINDS.node, { metadataOnly: true });
    const times = items.map(({ metadata }) =>
      Date.parse(metadata.annotations!["isochrone.dev/observed-at"]!),
    );
    const writes = await cluster.auditEvents(
      ({ userAgent, verb, receivedMs }) =>
        userAgent.startsWith("isochrone-writers") &&
        !["get", "list", "watch"].includes(verb) &&
        receivedMs >= beganMs + (minute - 1) * MINUTE_MS &&
        receivedMs < beganMs + minute * MINUTE_MS,
    );
    const failed = writes.filter(({ code }) => code >= 400).length;
    const { cpuSeconds, residentBytes } = cluster.usage("api-server");
    console.log(
      `minute ${minute}: ${(writes.length / 60).toFixed(2)} writes/s (${failed} refused), oldest ${Math.round((lookedMs - Math.min(...times)) / 1000)} s, ` +
        `API server ${cpuSeconds.toFixed(0)} s of CPU so far, ${Math.round(residentBytes / 1024 ** 2)} MiB`,
    );
  }
  await testbed.stop();
  store.close();
} finally {
  await cluster.close();
}
