/**
 * Interfaces that no packet leaves a node by, or whose packets another interface counts again:
 * - `lo`, `dummy*`, `nodelocaldns`, `kube-ipvs*`, `ifb*`: nothing leaves the node by them;
 * - the node's ends of pods' cables: `veth*`, `cali*`, `lxc*`, `azv*`, `gke<hex>`, `eni<hex>`, `tap*`,
 *   `vnet*`;
 * - bridges and switches: `br*`, `cni*`, `docker*`, `cbr*`, `virbr*`, `cilium_*`, `lxdbr*`, `ovs-*`,
 *   `ovn-*`, `antrea-*`, `podman*`, `nerdctl*`;
 * - tunnels and overlays: `tun*`, `tunl*`, `wg*`, `wireguard*`, `vxlan*`, `vx-*`, `flannel*`, `genev*`,
 *   `gre*`, `gretap*`, `erspan*`, `sit*`, `ip6tnl*`, `ip6gre*`, `ip_vti*`, `ip6_vti*`, `ipip*`, `weave`,
 *   `vethwe*`, `kube-bridge`, `tailscale*`, `zt*`, `nebula*`, `kilo*`;
 * - `bond*`, `team*` and VLANs (`eth0.5`, `vlan*`), likewise.
 */
const CARRIED =
  /^(?:lo$|dummy|nodelocaldns|kube-|ifb|veth|cali|lxc|azv|gke[0-9a-f]+$|eni[0-9a-f]+$|tap|vnet|br|cni|docker|cbr|virbr|cilium|lxdbr|ovs-|ovn-|antrea-|podman|nerdctl|tun|wg|wireguard|vxlan|vx-|flannel|genev|gre|erspan|sit|ip6|ip_vti|ipip|weave|tailscale|zt|nebula|kilo|bond|team|vlan)|\.\d+$/;
/**
 * Names that the kernel, systemd and biosdevname give to network cards: `eth0`, `eno1`, `ens5f0`, `enp3s0`,
 * `em1`, `p1p2`, `ib0`, `wlan0`, `wwp0s20`, `hsn0`.
 */
const CARD =
  /^(?:eth\d|en(?:[bcdopsuvx][0-9a-f]|P\d+[ps]\d)|em\d|p\d+p\d|ib(?:[ops]?\d|P\d)|wl|ww|hsn\d)[^.@:]*$/;
/** A virtual function's name on clouds where it is the lower half of a card that is called `eth*`. */
const FUNCTION = /^enP\d+s\d/;

/**
 * Kind of an interface, by its name alone. "carried": another one counts its packets again. "function": the
 * lower half of a card named `eth*`, or a card itself where there is none.
 */
type InterfaceKind = "card" | "function" | "carried" | "unclear";

/** Tells the kind by the name, for pages that have nothing else: the kernel knows better. */
export function interfaceKind(name: string): InterfaceKind {
  if (name === "" || CARRIED.test(name)) return "carried";
  if (FUNCTION.test(name)) return "function";
  return CARD.test(name) ? "card" : "unclear";
}

/**
 * False for an interface that is certainly no card. Collectors apply it, to spare the bus a hundred pods'
 * cables per node; the aggregator does too, because not every scrape is by our collector.
 */
export function isNodeInterface(name: string): boolean {
  return interfaceKind(name) !== "carried";
}

/** Interfaces of one node that are remembered. */
const MAX_INTERFACES = 64;

/**
 * Decides by names which interfaces of one node count. Cards do. One interface of another name does where no
 * card is seen. Several such ones don't: some may carry the others.
 */
export class InterfaceChoice {
  readonly #cards = new Set<string>();
  readonly #functions = new Set<string>();
  readonly #unclear = new Set<string>();

  see(name: string): void {
    const kind = interfaceKind(name);
    if (kind === "carried") return;
    const seen = kind === "card" ? this.#cards : kind === "function" ? this.#functions : this.#unclear;
    if (seen.size < MAX_INTERFACES) seen.add(name);
  }

  counts(name: string): boolean {
    const kind = interfaceKind(name);
    if (kind === "card") return true;
    if (kind === "function") return ![...this.#cards].some((card) => card.startsWith("eth"));
    return kind === "unclear" && !this.#hasCards && this.#unclear.size === 1;
  }

  /** True for an interface of which nobody can say whether another one carries it, where that matters. */
  isUnclear(name: string): boolean {
    return !this.#hasCards && this.#unclear.size > 1 && interfaceKind(name) === "unclear";
  }

  get #hasCards(): boolean {
    return this.#cards.size + this.#functions.size > 0;
  }
}
