import { readFile } from "node:fs/promises";
import { X509Certificate } from "node:crypto";
import { reasonOf } from "@isochrone/primitives";
import { CommandError, usageError } from "../errors.ts";
import { jsonText } from "../output/format.ts";
import { openStore } from "../kubernetes.ts";
import {
  configurationText,
  emptyConfiguration,
  readConfiguration,
} from "../scheduler-config/configuration-file.ts";
import type { ConfigurationFile } from "../scheduler-config/configuration-file.ts";
import { MAX_WEIGHT } from "../scheduler-config/extender-entry.ts";
import { mergeExtender } from "../scheduler-config/merge.ts";
import {
  clientPair,
  publishedAuthorities,
  writeClientPair,
} from "../scheduler-config/cluster-certificates.ts";
import { lookUp, serviceName } from "../scheduler-config/service-address.ts";

interface SchedulerConfigOptions {
  readonly url?: string;
  /** namespace/name[:port] of the extender's Service. */
  readonly service?: string;
  readonly kubeconfig?: string;
  /** Kubeconfig context. @default the current one */
  readonly context?: string;
  readonly prefix: string;
  readonly serverName?: string;
  readonly ca?: readonly string[];
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  /** Local folder for kube-scheduler's client certificate and key from the cluster. */
  readonly clientFolder?: string;
  readonly weight?: number;
  readonly timeout?: number;
  readonly filter?: boolean;
  readonly managedResource?: readonly string[];
  readonly secondScheduler?: string;
  readonly topologicalSort?: readonly string[];
  readonly output: "yaml" | "json";
}

export async function schedulerConfigCommand(
  path: string | undefined,
  options: SchedulerConfigOptions,
  print: (text: string) => void,
  note: (text: string) => void,
): Promise<void> {
  const { weight, timeout, filter = false, managedResource = [], secondScheduler, topologicalSort } = options;
  if (weight !== undefined && weight > MAX_WEIGHT)
    throw usageError(`--weight must be at most ${MAX_WEIGHT}, got ${weight}`);
  const file = path === undefined ? emptyConfiguration() : await readFileOrInput(path);
  const { url, serverName, ca, certFile, keyFile, clientEnds } = await wayOf(options);
  if (clientEnds !== null)
    note(
      `note: kube-scheduler reads its certificate and the authority at its start: run this again and restart it before ${clientEnds}`,
    );
  const { document, notes } = mergeExtender(file, {
    url,
    serverName,
    ca,
    clientCertificate: certFile,
    clientKey: keyFile,
    weight,
    timeoutMs: timeout,
    filter,
    managedResources: managedResource,
    secondScheduler,
    topologicalSort,
  });
  for (const sentence of notes) note(`note: ${sentence}`);
  print(options.output === "json" ? jsonText(document.toJS(), 2) : configurationText(document));
}

async function readFileOrInput(path: string): Promise<ConfigurationFile> {
  if (path !== "-") return readConfiguration(await readText("the configuration", path), path);
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk as Buffer));
  return readConfiguration(Buffer.concat(chunks).toString(), "standard input");
}

interface Way {
  readonly url: string;
  readonly serverName: string | undefined;
  readonly ca: string | undefined;
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
  /** Expiry of the client certificate written now; null: none written. */
  readonly clientEnds: string | null;
}

async function wayOf(options: SchedulerConfigOptions): Promise<Way> {
  const { url, service, clientFolder, serverName } = options;
  if ((url === undefined) === (service === undefined))
    throw usageError(
      "say where the extender is by one of --url and --service, got " +
        (url === undefined ? "neither" : "both"),
    );
  if (clientFolder !== undefined && service === undefined)
    throw usageError(`--client-folder needs --service: the cluster has the certificate, got --url ${url}`);
  const ca = await authorities(options.ca);
  const { clientCertificate: certFile, clientKey: keyFile } = options;
  return url !== undefined
    ? { url, serverName, ca, certFile, keyFile, clientEnds: null }
    : wayToService(service!, ca, options);
}

async function wayToService(
  service: string,
  ca: string | undefined,
  { kubeconfig, context, prefix, serverName, clientFolder, ...options }: SchedulerConfigOptions,
): Promise<Way> {
  const opened = openStore(kubeconfig, context);
  try {
    const { store } = opened;
    const found = await lookUp(store, service);
    const name = serviceName(service);
    const way = {
      url: found.url + prefix,
      serverName: serverName ?? found.serverName,
      ca: ca ?? (await publishedAuthorities(store, name)) ?? undefined,
      certFile: options.clientCertificate,
      keyFile: options.clientKey,
      clientEnds: null,
    };
    if (clientFolder === undefined) return way;
    const pair = await clientPair(store, name);
    const written = await writeClientPair(clientFolder, pair);
    // kube-scheduler may see that folder under another path.
    const isSaid = options.clientCertificate !== undefined || options.clientKey !== undefined;
    const clientEnds = new Date(new X509Certificate(pair.certificate).validTo).toISOString();
    return { ...way, ...(isSaid ? {} : written), clientEnds };
  } finally {
    await opened.close();
  }
}

async function authorities(paths: readonly string[] | undefined): Promise<string | undefined> {
  if (paths === undefined || paths.length === 0) return undefined;
  const texts = await Promise.all(paths.map((path) => readText("--ca", path)));
  return texts.map((text) => `${text.trimEnd()}\n`).join("");
}

async function readText(what: string, path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new CommandError(`${what} must be a readable file: ${reasonOf(error)}`, { cause: error });
  }
}
