// Process with a small cluster, to be killed by a test. Prints its children's ids once all are ready.
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { systemClock, systemRandom } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { LabCluster } from "../lab-cluster.ts";
import { sites, threeServices } from "./builders.ts";
import { DirectNetwork } from "./direct-network.ts";

const nodes = sites(2);
const cluster = await LabCluster.start({
  store: createMemoryStore({ clock: systemClock }),
  network: new DirectNetwork(nodes.map(({ name }) => name)),
  sites: nodes,
  manifest: threeServices(),
  clock: systemClock,
  random: systemRandom,
  logger: new MemoryLogger(),
});
await cluster.waitReady(60_000);
console.log(JSON.stringify([...cluster.processes().values()]));
