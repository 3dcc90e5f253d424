import { isQualifiedName } from "@isochrone/kubernetes";
import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { reasonOf } from "@isochrone/primitives";
import { CommandError, usageError } from "../errors.ts";
import { shown } from "../score/errors.ts";

export interface ExtenderRequest {
  readonly url: string;
  /** Name in the extender's certificate. @default none: the certificate must name the host of `url` */
  readonly serverName?: string | undefined;
  readonly ca?: string | undefined;
  /** Paths in kube-scheduler's file system. */
  readonly clientCertificate?: string | undefined;
  readonly clientKey?: string | undefined;
  /** @default the existing entry's, else DEFAULT_WEIGHT */
  readonly weight?: number | undefined;
  /** @default the existing entry's, else DEFAULT_TIMEOUT_MS */
  readonly timeoutMs?: number | undefined;
  readonly filter: boolean;
  readonly managedResources: readonly string[];
}

/** Like 2.5 kube-scheduler plugins of weight 2 (spreading, affinity); see docs/scheduler.md. */
const DEFAULT_WEIGHT = 5;
/** kube-scheduler's default is 5 s, which would block its whole loop. */
const DEFAULT_TIMEOUT_MS = 1_000;
/** Above this kube-scheduler's own scores become rounding errors, and sums approach integer overflow. */
export const MAX_WEIGHT = 1_000;

export interface ExtenderEntry {
  urlPrefix: string;
  filterVerb?: string;
  prioritizeVerb: string;
  weight: number;
  enableHTTPS: boolean;
  httpTimeout: string;
  nodeCacheCapable: true;
  ignorable: true;
  tlsConfig?: { serverName?: string; certFile?: string; keyFile?: string; caData: string };
  managedResources?: { name: string; ignoredByScheduler: boolean }[];
}

/** Fields of an existing entry that stay unless the command line overrides them. */
interface Kept {
  readonly weight?: unknown;
  readonly httpTimeout?: unknown;
}

/** Throws CommandError naming option, rule and value. */
export function extenderEntry(
  request: ExtenderRequest,
  kept: Kept,
  ignoredByScheduler: boolean,
): ExtenderEntry {
  const url = checkedUrl(request.url);
  const https = url.protocol === "https:";
  const tls = https ? tlsConfig(request) : noTls(request);
  const keptWeight = Number.isInteger(kept.weight) && Number(kept.weight) > 0 ? Number(kept.weight) : null;
  const keptTimeout = typeof kept.httpTimeout === "string" ? kept.httpTimeout : null;
  return {
    urlPrefix: url.href.replace(/\/+$/, ""),
    ...(request.filter ? { filterVerb: "filter" } : {}),
    prioritizeVerb: "prioritize",
    weight: request.weight ?? keptWeight ?? DEFAULT_WEIGHT,
    enableHTTPS: https,
    httpTimeout:
      request.timeoutMs === undefined ? (keptTimeout ?? `${DEFAULT_TIMEOUT_MS}ms`) : `${request.timeoutMs}ms`,
    nodeCacheCapable: true,
    ignorable: true,
    ...(tls === null ? {} : { tlsConfig: tls }),
    ...(request.managedResources.length === 0
      ? {}
      : { managedResources: managedResources(request.managedResources, ignoredByScheduler) }),
  };
}

function checkedUrl(text: string): URL {
  if (!URL.canParse(text)) throw usageError(`--url must be an address, got ${shown(text)}`);
  const url = new URL(text);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (url.protocol !== "https:" && url.protocol !== "http:")
    throw usageError(`--url must begin with https:// (or http:// on this machine), got ${shown(text)}`);
  if (url.search !== "" || url.hash !== "" || url.username !== "" || url.password !== "")
    throw usageError(
      `--url must have no user, query or fragment: kube-scheduler puts the verb behind it, got ${shown(text)}`,
    );
  if (/\.svc(\.|$)/.test(host))
    throw usageError(
      `--url must not name a service: a kube-scheduler in a static pod uses the node's resolver, which doesn't know cluster names; ` +
        `say its ClusterIP, with --server-name ${host}, or --service, got ${shown(text)}`,
    );
  if (url.protocol === "http:" && !isLoopback(host))
    throw usageError(
      `--url must be https unless the extender is on this very machine: anybody on the way could place pods, got ${shown(text)}`,
    );
  return url;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

function noTls(request: ExtenderRequest): null {
  for (const [option, value] of [
    ["--ca", request.ca],
    ["--server-name", request.serverName],
    ["--client-certificate", request.clientCertificate],
    ["--client-key", request.clientKey],
  ] as const) {
    if (value !== undefined)
      throw usageError(`${option} needs an https address in --url, got ${shown(request.url)}`);
  }
  return null;
}

function tlsConfig(request: ExtenderRequest): NonNullable<ExtenderEntry["tlsConfig"]> {
  const { serverName, ca, clientCertificate, clientKey } = request;
  if (ca === undefined)
    throw usageError(
      "--ca must name the authority of the extender's certificate: without it kube-scheduler verifies no certificate at all, got nothing",
    );
  checkAuthorities(ca);
  if ((clientCertificate === undefined) !== (clientKey === undefined)) {
    const [has, lacks] =
      clientKey === undefined
        ? ["--client-certificate", "--client-key"]
        : ["--client-key", "--client-certificate"];
    throw usageError(`${lacks} must be said together with ${has}, got nothing`);
  }
  return {
    ...(serverName === undefined ? {} : { serverName }),
    ...(clientCertificate === undefined ? {} : { certFile: clientCertificate, keyFile: clientKey! }),
    caData: Buffer.from(ca).toString("base64"),
  };
}

function checkAuthorities(pem: string): void {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0)
    throw new CommandError(`--ca must hold PEM certificates, got ${shown(pem.slice(0, 60))}`);
  if (pem.includes("PRIVATE KEY-----"))
    throw new CommandError(
      "--ca must hold certificates only, got a private key, which has no place in a configuration",
    );
  for (const [index, block] of blocks.entries()) {
    try {
      void new X509Certificate(block).subject;
    } catch (error) {
      throw new CommandError(`--ca: certificate ${index + 1} must be readable: ${reasonOf(error)}`, {
        cause: error,
      });
    }
  }
}

function managedResources(
  names: readonly string[],
  ignoredByScheduler: boolean,
): { name: string; ignoredByScheduler: boolean }[] {
  const seen = new Set<string>();
  for (const name of names) {
    const domain = name.split("/", 1)[0]!;
    // kube-scheduler's rule for extended resources.
    const foreign = name.includes("/") && domain !== "kubernetes.io" && !domain.endsWith(".kubernetes.io");
    if (!foreign || name.startsWith("requests.") || !isQualifiedName(name))
      throw usageError(
        `--managed-resource must be an extended resource: a domain that isn't kubernetes.io, a slash and a name, such as isochrone.dev/placement, got ${shown(name)}`,
      );
    if (seen.has(name))
      throw usageError(`--managed-resource must name each resource once, got ${shown(name)} twice`);
    seen.add(name);
  }
  return names.map((name) => ({ name, ignoredByScheduler }));
}
