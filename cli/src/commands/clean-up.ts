// What the services have made by themselves, deleted when they have gone: the chart's last hook.
import { isStoreError, KINDS, WEBHOOK_SECRET, type ClusterStore } from "@isochrone/kubernetes";
import { reasonOf } from "@isochrone/runtime";
import { CommandError } from "../errors.ts";
import { openStore } from "../kubernetes.ts";

export interface CleanUpOptions {
  readonly kubeconfig?: string;
  /** Where Isochrone was installed. */
  readonly systemNamespace: string;
  /** Of the probes' keys. */
  readonly secret: string;
  /** Of annotations. */
  readonly prefix: string;
}

type Print = (text: string) => void;

/** Leases of other programs in the same namespace stay. */
const LEASES = /^isochrone-(aggregator(-.+)?|scheduler-plugin|planner)$/;
const NODE_ANNOTATIONS = /^(available-cpu|available-memory|network-coordinate|observed-at|network-cost-.+)$/;

/** Prints what is deleted. Throws CommandError. */
export async function cleanUpCommand(options: CleanUpOptions, print: Print): Promise<void> {
  const opened = openStore(options.kubeconfig);
  try {
    for (const name of [options.secret, WEBHOOK_SECRET])
      await deleteSecret(opened.store, options, name, print);
    await deleteLeases(opened.store, options, print);
    await removeAnnotations(opened.store, options, print);
  } catch (error) {
    throw new CommandError(`the cluster can't be asked: ${reasonOf(error)}`, { cause: error });
  } finally {
    await opened.close();
  }
}

async function deleteSecret(
  store: ClusterStore,
  { systemNamespace: namespace }: CleanUpOptions,
  name: string,
  print: Print,
): Promise<void> {
  if (await isDeleted(store.delete({ ...KINDS.secret, namespace, name }))) print(`Secret ${name}: deleted`);
}

async function deleteLeases(
  store: ClusterStore,
  { systemNamespace: namespace }: CleanUpOptions,
  print: Print,
): Promise<void> {
  const { items } = await store.list(KINDS.lease, { namespace, metadataOnly: true });
  for (const { metadata } of items.filter((lease) => LEASES.test(lease.metadata.name)))
    if (await isDeleted(store.delete({ ...KINDS.lease, namespace, name: metadata.name })))
      print(`Lease ${metadata.name}: deleted`);
}

async function removeAnnotations(
  store: ClusterStore,
  { prefix }: CleanUpOptions,
  print: Print,
): Promise<void> {
  const { items } = await store.list(KINDS.node, { metadataOnly: true });
  let nodes = 0;
  for (const { metadata } of items) {
    const names = Object.keys(metadata.annotations ?? {}).filter(
      (name) => name.startsWith(prefix) && NODE_ANNOTATIONS.test(name.slice(prefix.length)),
    );
    if (names.length === 0) continue;
    const annotations = Object.fromEntries(names.map((name) => [name, null]));
    if (await isDeleted(store.patch({ ...KINDS.node, name: metadata.name }, { metadata: { annotations } })))
      nodes++;
  }
  print(`annotations of ${nodes} nodes: removed`);
}

/** False when it was not there. */
async function isDeleted(deletion: Promise<unknown>): Promise<boolean> {
  try {
    await deletion;
    return true;
  } catch (error) {
    if (isStoreError(error, "not_found")) return false;
    throw error;
  }
}
