import type { Draw } from "@isochrone/primitives";
import { chosen, CLOUD, hosts, type Dispatcher } from "../dispatcher.ts";
import type { NodeState } from "../system.ts";

export function cloudAlone(): Dispatcher {
  return { name: "cloud", choose: () => chosen(CLOUD) };
}

/** Uniform over hosting nodes and the cloud. */
export function randomly(draw: Draw): Dispatcher {
  return {
    name: "random",
    choose({ service }, { state }) {
      const nodes = hosts(service, state.nodes);
      const at = Math.floor(draw() * (nodes.length + 1));
      return chosen(nodes[at]?.index ?? CLOUD);
    },
  };
}

/** kube-proxy: uniform over ready replicas, wherever they are. */
export function kubeProxy(draw: Draw): Dispatcher {
  return {
    name: "kube-proxy",
    choose({ service }, { state }) {
      return chosen(anyReplica(service, state.nodes, draw) ?? CLOUD);
    },
  };
}

/** kube-proxy with trafficDistribution: PreferSameZone. */
export function preferSameZone(draw: Draw): Dispatcher {
  return {
    name: "prefer-same-zone",
    choose({ service, site }, { state }) {
      const own = anyReplica(service, state.sites[site]!.nodes, draw);
      return chosen(own ?? anyReplica(service, state.nodes, draw) ?? CLOUD);
    },
  };
}

export function anyReplica(service: number, nodes: readonly NodeState[], draw: Draw): number | null {
  const total = nodes.reduce((sum, { ready }) => sum + ready[service]!, 0);
  let left = Math.floor(draw() * total);
  for (const { ready, index } of nodes) {
    left -= ready[service]!;
    if (left < 0) return index;
  }
  return null;
}
