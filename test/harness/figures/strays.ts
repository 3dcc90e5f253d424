import { NAMESPACE, type Draw, type STRAYS } from "./draw.ts";
import type { Pages } from "./pages.ts";
import { counted, counter, type Row } from "./rows.ts";

type Stray = (typeof STRAYS)[number];

const ROWS: Readonly<Record<Stray, { readonly family: string; readonly labels: Row["labels"] }>> = {
  unattributed: {
    family: "beyla_network_flow_bytes_total",
    labels: {
      direction: "request",
      k8s_src_namespace: NAMESPACE,
      k8s_src_owner_name: "web",
      k8s_src_owner_type: "Deployment",
    },
  },
  unknown_pod: {
    family: "container_net_tcp_bytes_sent_total",
    labels: { container_id: `/k8s/${NAMESPACE}/gone-1/app`, actual_destination: "10.9.9.9:80" },
  },
  sampling_unset: {
    family: "netobserv_workload_egress_bytes_total",
    labels: {
      SrcK8S_Namespace: NAMESPACE,
      SrcK8S_OwnerName: "web",
      SrcK8S_OwnerType: "Deployment",
      DstK8S_Namespace: NAMESPACE,
      DstK8S_OwnerName: "old",
      DstK8S_OwnerType: "Deployment",
    },
  },
};

export function strayRows(draw: Draw, pages: Pages): void {
  const node = draw.nodes[0]!;
  for (const stray of draw.strays) {
    const { family, labels } = ROWS[stray];
    pages.add(`stray-${stray}`, { kind: "agent", node, pod: null, life: node.agent }, (nowMs) => [
      counter(family, labels, counted(node.agent, nowMs, 1_000)),
    ]);
  }
}
