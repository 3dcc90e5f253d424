import { StoreError, type KubernetesObject } from "@isochrone/kubernetes";
import { isSortAlgorithm, SORT_ALGORITHMS } from "@isochrone/placement";
import {
  appGroupOf,
  applyObjects,
  DEFAULT_ALGORITHM,
  manifestsOf,
  readTosca,
  ToscaError,
  workflowGraphOf,
} from "@isochrone/tosca";
import type { Application, AppliedObject } from "@isochrone/tosca";
import { visibleData } from "@isochrone/runtime/basics";
import { definedOf } from "@isochrone/primitives";
import { CommandError, usageError } from "../errors.ts";
import { openStore } from "../kubernetes.ts";
import { formatted, jsonText, yamlText } from "../output/format.ts";
import type { Format } from "../output/format.ts";
import { createProgress } from "../output/progress.ts";
import { table } from "../output/table.ts";

export interface ToscaOptions {
  /** Selects the printed or applied objects. None: prints a summary, or applies AppGroup and manifests. */
  readonly appgroup?: boolean;
  readonly manifests?: boolean;
  readonly graph?: boolean;
  readonly apply?: boolean;
  readonly dryRun?: boolean;
  readonly forceConflicts?: boolean;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly algorithm?: string;
  readonly planned?: boolean;
  readonly input?: ReadonlyMap<string, string>;
  readonly mapping?: string;
  readonly profiles?: readonly string[];
  /** @default table for the summary, the graph and applied objects, yaml for objects */
  readonly output?: Format;
}

type Print = (text: string) => void;

export async function toscaCommand(
  file: string,
  options: ToscaOptions,
  print: Print,
  note: Print,
): Promise<void> {
  checkOptions(options);
  try {
    const { name, namespace, input: inputs, mapping, profiles } = options;
    const isWhole = options.manifests || (options.apply && !options.appgroup);
    const application = await readTosca(file, {
      ...definedOf({ name, namespace, inputs, mapping, profiles }),
      isGraphOnly: !isWhole,
    });
    for (const sentence of application.notes) note(`note: ${sentence}`);
    if (options.apply) await apply(objectsOf(application, options, note), options, print);
    else if (options.graph) printGraph(application, options, print);
    else if (options.appgroup || options.manifests)
      print(objectsText(objectsOf(application, options, note), options));
    else printGraph(application, { ...options, output: options.output ?? "table" }, print);
  } catch (error) {
    throw commandErrorOf(error);
  }
}

function commandErrorOf(error: unknown): unknown {
  if (error instanceof ToscaError && error.code === "invalid_option")
    return usageError(error.message, { cause: error });
  return error instanceof ToscaError || error instanceof StoreError
    ? new CommandError(error.message, { cause: error })
    : error;
}

function checkOptions({
  apply,
  dryRun,
  forceConflicts,
  graph,
  algorithm,
  output,
  ...options
}: ToscaOptions): void {
  if (!apply && (dryRun || forceConflicts))
    throw usageError("--dry-run and --force-conflicts go with --apply");
  if (graph && (apply || options.appgroup || options.manifests))
    throw usageError("--graph goes without --apply, --appgroup and --manifests");
  if (output === "table" && !apply && (options.appgroup || options.manifests))
    throw usageError("-o must be yaml or json for objects, got table");
  if (algorithm !== undefined && !isSortAlgorithm(algorithm))
    throw usageError(
      `--algorithm must be one of ${SORT_ALGORITHMS.join(", ")}, got ${JSON.stringify(algorithm)}`,
    );
}

/** AppGroup first: later pods must find it. */
function objectsOf(
  application: Application,
  { appgroup = false, manifests = false, algorithm = DEFAULT_ALGORITHM, planned = false }: ToscaOptions,
  note: Print,
): KubernetesObject[] {
  const isBoth = !appgroup && !manifests;
  const objects: KubernetesObject[] = [];
  if ((appgroup || isBoth) && isSortAlgorithm(algorithm))
    objects.push(appGroupOf(application, { algorithm, isPlanned: planned }));
  if (manifests || isBoth) {
    const found = manifestsOf(application);
    for (const sentence of found.notes) note(`note: ${sentence}`);
    objects.push(...found.objects);
  }
  return objects;
}

function objectsText(objects: readonly KubernetesObject[], { output = "yaml" }: ToscaOptions): string {
  if (output === "json") {
    const [only] = objects;
    const json = objects.length === 1 ? only : { apiVersion: "v1", kind: "List", items: objects };
    return jsonText(json, 2);
  }
  return objects.map(yamlText).join("\n---\n");
}

function printGraph(application: Application, { output = "table" }: ToscaOptions, print: Print): void {
  const graph = workflowGraphOf(application, new Date().toISOString());
  if (output === "json") return print(jsonText(graph, 2));
  if (output === "yaml") return print(yamlText(graph));
  const { namespace, name, workloads, channels } = visibleData(graph);
  print(
    [
      `${namespace}/${name}: ${workloads.length} services (${workloads.map((each) => each.name).join(", ")})`,
      "",
      table(
        ["source", "target", "type", "priority", "max cost", "min bandwidth, bit/s"],
        channels.map((channel) => [
          channel.source,
          channel.target,
          channel.relationshipType ?? null,
          channel.priority,
          channel.maxNetworkCost,
          channel.minBandwidthBitsPerSecond,
        ]),
      ),
    ].join("\n"),
  );
}

async function apply(
  objects: readonly KubernetesObject[],
  options: ToscaOptions,
  print: Print,
): Promise<void> {
  const { dryRun = false, forceConflicts = false, output = "table", kubeconfig, context } = options;
  const opened = openStore(kubeconfig, context);
  const results: object[] = [];
  const progress = createProgress(process.stderr, () => performance.now());
  try {
    await applyObjects(opened.store, objects, { dryRun, force: forceConflicts }, (applied) => {
      results.push(resultOf(applied));
      progress.clear();
      if (output === "table") print(`${lineOf(applied)}${dryRun ? " (dry run)" : ""}`);
      progress.at(results.length / objects.length, `${results.length} of ${objects.length} objects`);
    });
  } finally {
    progress.clear();
    if (output !== "table") print(formatted(output, results, () => ""));
    await opened.close();
  }
}

function resultOf({ object: { kind, metadata }, outcome, changes }: AppliedObject): object {
  return { kind, namespace: metadata.namespace, name: metadata.name, outcome, changes };
}

const SHOWN_CHANGES = 8;

function lineOf({ object: { kind, metadata }, outcome, changes }: AppliedObject): string {
  const shown = changes.slice(0, SHOWN_CHANGES).join(", ");
  const more = changes.length > SHOWN_CHANGES ? `, and ${changes.length - SHOWN_CHANGES} more` : "";
  const what = changes.length === 0 ? "" : `: ${shown}${more}`;
  return `${kind} ${metadata.namespace}/${metadata.name} ${outcome}${what}`;
}
