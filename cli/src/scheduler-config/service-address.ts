// Finds a Service's ClusterIP: a static pod uses the node's resolver, which has no Services.
import { KINDS } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { isIP } from "node:net";
import { CommandError, usageError } from "../errors.ts";
import { shown } from "../score/errors.ts";
import { recordsOf } from "./configuration-file.ts";

interface ServiceAddress {
  /** https://ip:port */
  readonly url: string;
  readonly serverName: string;
}

/** @param service namespace/name, with `:port` (name or number) if it has several. Throws CommandError. */
export function serviceName(service: string): {
  readonly namespace: string;
  readonly name: string;
  readonly port: string | undefined;
} {
  const [, namespace, name, port] = /^([^/:]+)\/([^/:]+)(?::([^/:]+))?$/.exec(service) ?? [];
  if (namespace === undefined || name === undefined)
    throw usageError(`--service must be namespace/name or namespace/name:port, got ${shown(service)}`);
  return { namespace, name, port };
}

/** Throws CommandError. */
export async function lookUp(store: Pick<ClusterStore, "get">, service: string): Promise<ServiceAddress> {
  const { namespace, name, port } = serviceName(service);
  const object = await store.get({ ...KINDS.service, namespace, name });
  if (object === null)
    throw new CommandError(
      `--service must be there, and the cluster has none of that name, got ${shown(service)}`,
    );
  const ip = object.spec?.clusterIP;
  const family = typeof ip === "string" ? isIP(ip) : 0;
  if (family === 0)
    throw new CommandError(
      `--service must have a ClusterIP, which kube-scheduler can reach without a resolver; ${service} has ${shown(ip)}`,
    );
  const host = family === 6 ? `[${String(ip)}]` : String(ip);
  return { url: `https://${host}:${portOf(object, service, port)}`, serverName: `${name}.${namespace}.svc` };
}

const USUAL_PORTS = ["extender", "https"];

function portOf(object: KubernetesObject, service: string, wanted: string | undefined): number {
  const ports = recordsOf(object.spec?.ports);
  const usual = USUAL_PORTS.find((usualName) => ports.some(({ name }) => name === usualName));
  const found =
    wanted === undefined && ports.length === 1
      ? ports[0]
      : ports.find(({ name, port }) => name === (wanted ?? usual) || String(port) === wanted);
  if (found === undefined) {
    const known = ports.map(({ name, port }) =>
      typeof name === "string" ? `${name} (${String(port)})` : String(port),
    );
    throw new CommandError(`--service must name one of its ports ${known.join(", ")}, got ${shown(service)}`);
  }
  return Number(found.port);
}
