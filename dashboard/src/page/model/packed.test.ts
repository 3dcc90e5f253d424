import { clusterColumnsOf, type ClusterGraphSnapshot } from "@isochrone/topology";
import { expect, test } from "vitest";
import { gridOf } from "./grid.ts";
import { digestOf } from "./summary.ts";
import { clusterViewOf } from "./cluster-view.ts";
import { packGrid, packView, Unpacker } from "./packed.ts";

const graph = (cpu: number) =>
  ({
    version: 1,
    observedAt: "2026-01-01T00:00:00Z",
    windowSeconds: 30,
    nodes: ["a", "b", "\u202Eevil</script>"].map((name) => ({
      name,
      zone: "z",
      region: null,
      availableCpuMillicores: cpu,
      coordinate: [1, 2, 3],
    })),
    links: [],
  }) as unknown as ClusterGraphSnapshot;

const viewOf = (cpu: number) => clusterViewOf(clusterColumnsOf(graph(cpu)));
const sent = <T>({ packed, moved }: { readonly packed: T; readonly moved: ArrayBuffer[] }): T =>
  structuredClone(packed, { transfer: moved });

test("a view comes over as it was, and stays usable where it was made", () => {
  const view = viewOf(1);
  const { view: received, digest } = new Unpacker().view(sent(packView(view, digestOf(view))));
  expect({ ...received, nodes: received.nodes }).toEqual(view);
  expect(digest).toEqual(digestOf(view));
  expect(view.pairs.rowStart).toHaveLength(4);
});

test("lists that stay the same are the same one, so that nothing is drawn anew for them", () => {
  const unpacker = new Unpacker();
  const receive = (cpu: number) => unpacker.view(sent(packView(viewOf(cpu), digestOf(viewOf(cpu)))));
  const [first, second, third] = [receive(1), receive(1), receive(2)];
  expect(second.digest.head).toBe(first.digest.head);
  expect(second.view.nodes).toBe(first.view.nodes);
  expect(third.digest.head).not.toBe(first.digest.head);
  expect(third.view.nodes[0]!.availableCpuMillicores).toBe(2);
  const grid = () => unpacker.grid(sent(packGrid(gridOf(viewOf(1), "p50", "nodes"))));
  expect(grid().labels).toBe(grid().labels);
});
