/**
 * Interfaces that no packet leaves a node by, or whose packets another interface counts: loopback and
 * dummies, node ends of pod links, bridges and switches, tunnels and overlays, bonds, teams and VLANs.
 */
const CARRIED =
  /^(?:lo$|dummy|nodelocaldns|kube-|ifb|veth|cali|lxc|azv|gke[0-9a-f]+$|eni[0-9a-f]+$|tap|vnet|br|cni|docker|cbr|virbr|cilium|lxdbr|ovs-|ovn-|antrea-|podman|nerdctl|tun|wg|wireguard|vxlan|vx-|flannel|genev|gre|erspan|sit|ip6|ip_vti|ipip|weave|tailscale|zt|nebula|kilo|bond|team|vlan)|\.\d+$/;
/**
 * Names of network cards by the kernel, systemd and biosdevname, such as `eth0`, `eno1`, `enp3s0`, `p1p2`,
 * `ib0`, `wlan0`, `wwp0s20`, `hsn0`.
 */
const CARD =
  /^(?:eth\d|en(?:[bcdopsuvx][0-9a-f]|P\d+[ps]\d)|em\d|p\d+p\d|ib(?:[ops]?\d|P\d)|wl|ww|hsn\d)[^.@:]*$/;
/** Name of a virtual function, on clouds the lower half of a card named `eth*`. */
const FUNCTION = /^enP\d+s\d/;

/**
 * "carried": another interface counts its packets. "function": the lower half of a card named `eth*`, or a
 * card if there is none.
 */
type InterfaceKind = "card" | "function" | "carried" | "unclear";

export function interfaceKind(name: string): InterfaceKind {
  if (name === "" || CARRIED.test(name)) return "carried";
  if (FUNCTION.test(name)) return "function";
  return CARD.test(name) ? "card" : "unclear";
}

/**
 * Collectors apply it to spare the bus a hundred pod links per node, and the aggregator for scrapes by
 * others.
 */
export function isNodeInterface(name: string): boolean {
  return interfaceKind(name) !== "carried";
}

/** Maximum interfaces remembered per node. */
const MAX_INTERFACES = 64;

/**
 * Decides which interfaces of a node count: cards, or without cards a single unclear one. Several unclear
 * ones could carry each other.
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

  isUnclear(name: string): boolean {
    return !this.#hasCards && this.#unclear.size > 1 && interfaceKind(name) === "unclear";
  }

  get #hasCards(): boolean {
    return this.#cards.size + this.#functions.size > 0;
  }
}
