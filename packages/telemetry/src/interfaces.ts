/**
 * Interfaces that are not a node's way to other nodes, or that repeat what another one counts:
 * - `lo`, `dummy*`, `nodelocaldns`, `kube-ipvs*`, `ifb*`: nothing leaves the node by them;
 * - the node's ends of pods' cables: `veth*`, `cali*`, `lxc*`, `azv*`, `gke<hex>`, `eni<hex>`, `tap*`,
 *   `vnet*`;
 * - bridges and switches: `br*`, `cni*`, `docker*`, `cbr*`, `virbr*`, `cilium_*`, `lxdbr*`, `ovs-*`,
 *   `antrea-*`, `podman*`, `nerdctl*`;
 * - tunnels, whose frames the interface below counts again: `tun*`, `tunl*`, `wg*`, `vxlan*`, `flannel*`,
 *   `genev*`, `gre*`, `gretap*`, `erspan*`, `sit*`, `ip6tnl*`, `ip6gre*`, `ip_vti*`, `ip6_vti*`, `ipip*`,
 *   `weave`, `vethwe*`, `kube-bridge`;
 * - `bond*`, `team*` and VLANs (`eth0.5`, `vlan*`), likewise. Collectors apply it, to spare the bus a hundred
 *   pods' cables per node; the aggregator does too, because not every scrape is by our collector.
 */
const OTHERS =
  /^(?:lo$|dummy|nodelocaldns|kube-|ifb|veth|cali|lxc|azv|gke[0-9a-f]+$|eni[0-9a-f]+$|tap|vnet|br|cni|docker|cbr|virbr|cilium|lxdbr|ovs-|antrea-|podman|nerdctl|tun|wg|vxlan|flannel|genev|gre|erspan|sit|ip6|ip_vti|ipip|weave|bond|team|vlan)|\.\d+$/;

/** True for an interface that carries the node's traffic to other nodes, and counts it once. */
export function isNodeInterface(name: string): boolean {
  return name !== "" && !OTHERS.test(name);
}
