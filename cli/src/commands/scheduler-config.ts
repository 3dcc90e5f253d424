import { readFile } from "node:fs/promises";
import { CommandError } from "../errors.ts";
import { jsonText } from "../output/format.ts";
import {
  configurationText,
  emptyConfiguration,
  readConfiguration,
} from "../scheduler-config/configuration-file.ts";
import type { ConfigurationFile } from "../scheduler-config/configuration-file.ts";
import { MAX_WEIGHT } from "../scheduler-config/extender-entry.ts";
import { mergeExtender } from "../scheduler-config/merge.ts";
import { serviceAddress } from "../scheduler-config/service-address.ts";

export interface SchedulerConfigOptions {
  readonly url?: string;
  /** namespace/name[:port] of the extender's service. */
  readonly service?: string;
  readonly kubeconfig?: string;
  /** Of the kubeconfig. @default its current one */
  readonly context?: string;
  readonly prefix: string;
  readonly serverName?: string;
  /** Paths of files on this machine; their contents are written into the configuration. */
  readonly ca?: readonly string[];
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  readonly weight?: number;
  readonly timeout?: number;
  readonly filter?: boolean;
  readonly managedResource?: readonly string[];
  readonly secondScheduler?: string;
  readonly output: "yaml" | "json";
}

/** Prints the configuration with our extender in it, and on `note` what the operator should know. */
export async function schedulerConfigCommand(
  path: string | undefined,
  options: SchedulerConfigOptions,
  print: (text: string) => void,
  note: (text: string) => void,
): Promise<void> {
  const { weight, timeout, filter = false, managedResource = [], secondScheduler } = options;
  if (weight !== undefined && weight > MAX_WEIGHT)
    throw new CommandError(`--weight must be at most ${MAX_WEIGHT}, got ${weight}`, { exitCode: 2 });
  const file = path === undefined ? emptyConfiguration() : await readFileOrInput(path);
  const { url, serverName } = await addressOf(options);
  const ca = await authorities(options.ca);
  const { document, notes } = mergeExtender(file, {
    url,
    serverName,
    ca,
    clientCertificate: options.clientCertificate,
    clientKey: options.clientKey,
    weight,
    timeoutMs: timeout,
    filter,
    managedResources: managedResource,
    secondScheduler,
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

async function addressOf(
  options: SchedulerConfigOptions,
): Promise<{ url: string; serverName: string | undefined }> {
  const { url, service, kubeconfig, context, prefix, serverName } = options;
  if ((url === undefined) === (service === undefined))
    throw new CommandError(
      "say where the extender is by one of --url and --service, got " +
        (url === undefined ? "neither" : "both"),
      {
        exitCode: 2,
      },
    );
  if (url !== undefined) return { url, serverName };
  const found = await serviceAddress(service!, kubeconfig, context);
  return { url: found.url + prefix, serverName: serverName ?? found.serverName };
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
    throw new CommandError(`${what} must be a readable file: ${(error as Error).message}`, { cause: error });
  }
}
