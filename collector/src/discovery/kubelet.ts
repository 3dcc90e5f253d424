import type { KubernetesObject } from "@isochrone/kubernetes";
import type { Target } from "../ports/ports.ts";
import { addressOf, urlOf, type AddressFamily } from "./addresses.ts";

export interface KubeletOptions {
  /** The first is read; the others stand in for it. */
  readonly pages: readonly KubeletPage[];
  readonly scheme?: "http" | "https";
}

export type KubeletPage = "cadvisor" | "resource";

const DEFAULT_KUBELET_PORT = 10_250;

export function kubeletTargets(
  node: string,
  address: string,
  port: number,
  { pages, scheme = "https" }: KubeletOptions,
): Target[] {
  const first = pages[0];
  return pages.map((page) => ({
    kind: page,
    role: "kubelet",
    url: urlOf(scheme, address, port, `/metrics/${page}`),
    instance: instanceOf(node, page),
    ...(scheme === "https" ? { access: "kubelet" } : {}),
    ...(first === undefined || page === first ? {} : { standsInFor: instanceOf(node, first) }),
  }));
}

export function kubeletAddress(
  node: KubernetesObject,
  family: AddressFamily,
): { readonly address: string; readonly port: number } | null {
  const { addresses = [], daemonEndpoints } = (node.status ?? {}) as NodeStatus;
  const internal = addresses.filter(({ type }) => type === "InternalIP").map(({ address }) => address);
  const address = addressOf(internal, family);
  if (address === null) return null;
  // The API server writes 0 for an unset port.
  return { address, port: daemonEndpoints?.kubeletEndpoint?.Port || DEFAULT_KUBELET_PORT };
}

interface NodeStatus {
  readonly addresses?: readonly { readonly type: string; readonly address: string }[];
  readonly daemonEndpoints?: { readonly kubeletEndpoint?: { readonly Port?: number } };
}

function instanceOf(node: string, page: KubeletPage): string {
  return page === "cadvisor" ? `kubelet/${node}` : `kubelet/${node}/${page}`;
}
