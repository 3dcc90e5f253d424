// Deletes what the services created themselves: the chart's last hook.
import { ANNOTATED_BY } from "@isochrone/topology";
import { isStoreError, KINDS, WEBHOOK_SECRET, type ClusterStore } from "@isochrone/kubernetes";
import { reasonOf } from "@isochrone/primitives";
import { CommandError } from "../errors.ts";
import { openStore } from "../kubernetes.ts";
import { formatted, type Format } from "../output/format.ts";

interface CleanUpOptions {
  readonly kubeconfig?: string;
  /** Kubeconfig context. @default the current one */
  readonly context?: string;
  readonly output: Format;
  readonly systemNamespace: string;
  readonly secret: readonly string[];
  readonly configMap: readonly string[];
  readonly prefix: string;
}

type Print = (text: string) => void;

interface Deleted {
  readonly deleted: readonly { readonly kind: string; readonly name: string }[];
  readonly nodes: number;
}

/** Leases of other programs in the namespace stay. */
const LEASES = /^isochrone-(aggregator(-.+)?|scheduler-plugin|planner)$/;
const NODE_ANNOTATIONS = /^(available-cpu|available-memory|network-coordinate|observed-at|network-cost-.+)$/;

export async function cleanUpCommand(options: CleanUpOptions, print: Print): Promise<void> {
  const opened = openStore(options.kubeconfig, options.context);
  try {
    const done = await cleanUp(opened.store, options);
    print(formatted(options.output, done, textOf));
  } catch (error) {
    throw new CommandError(`the cluster can't be reached: ${reasonOf(error)}`, { cause: error });
  } finally {
    await opened.close();
  }
}

async function cleanUp(store: ClusterStore, options: CleanUpOptions): Promise<Deleted> {
  const { systemNamespace: namespace, secret, configMap } = options;
  const { items } = await store.list(KINDS.lease, { namespace, metadataOnly: true });
  const leases = items.map(({ metadata }) => metadata.name).filter((name) => LEASES.test(name));
  const wanted = [
    ...[...secret, WEBHOOK_SECRET].map((name) => ({ ...KINDS.secret, name })),
    ...configMap.map((name) => ({ ...KINDS.configMap, name })),
    ...leases.map((name) => ({ ...KINDS.lease, name })),
  ];
  const deleted: Deleted["deleted"][number][] = [];
  for (const ref of wanted)
    if (await isDeleted(store.delete({ ...ref, namespace })))
      deleted.push({ kind: ref.kind, name: ref.name });
  return { deleted, nodes: await removeAnnotations(store, options) };
}

function textOf({ deleted, nodes }: Deleted): string {
  const lines = deleted.map(({ kind, name }) => `${kind} ${name}: deleted`);
  return [...lines, `annotations of ${nodes} nodes: removed`].join("\n");
}

async function removeAnnotations(store: ClusterStore, { prefix }: CleanUpOptions): Promise<number> {
  const { items } = await store.list(KINDS.node, { metadataOnly: true });
  let nodes = 0;
  for (const { metadata } of items) {
    const names = Object.keys(metadata.annotations ?? {}).filter(
      (name) =>
        name === ANNOTATED_BY ||
        (name.startsWith(prefix) && NODE_ANNOTATIONS.test(name.slice(prefix.length))),
    );
    if (names.length === 0) continue;
    const annotations = Object.fromEntries(names.map((name) => [name, null]));
    if (await isDeleted(store.patch({ ...KINDS.node, name: metadata.name }, { metadata: { annotations } })))
      nodes++;
  }
  return nodes;
}

async function isDeleted(deletion: Promise<unknown>): Promise<boolean> {
  try {
    await deletion;
    return true;
  } catch (error) {
    if (isStoreError(error, "not_found")) return false;
    throw error;
  }
}
