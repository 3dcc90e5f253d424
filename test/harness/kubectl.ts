// The few commands of kubectl that Isochrone prints, carried out on a store: nobody can ask a real one for a
// cluster in memory.
import { KINDS, type ClusterStore } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";

const RULES: readonly (readonly [RegExp, (store: ClusterStore, ...found: string[]) => Promise<unknown>])[] = [
  [
    /^kubectl -n (\S+) patch service (\S+) --type merge -p '(.*)'$/,
    (store, namespace, name, patch) =>
      store.patch({ ...KINDS.service, namespace: namespace, name: name }, looseFields(JSON.parse(patch))),
  ],
  [
    /^kubectl label namespace (\S+) ([^=]+)=(\S+)$/,
    async (store, name, label, value) => {
      const metadata = { name: name, labels: { [label]: value } };
      if ((await store.get({ ...KINDS.namespace, name: name })) === null)
        await store.create({ ...KINDS.namespace, metadata });
      else await store.patch({ ...KINDS.namespace, name: name }, { metadata: { labels: metadata.labels } });
    },
  ],
  [
    /^kubectl -n (\S+) annotate --overwrite pod (\S+) ([^=]+)=(\S+)$/,
    (store, namespace, name, annotation, value) =>
      store.patch(
        { ...KINDS.pod, namespace: namespace, name: name },
        { metadata: { annotations: { [annotation]: value } } },
      ),
  ],
  [
    /^echo '(.*)' \| kubectl create --raw \/api\/v1\/namespaces\/(\S+)\/pods\/(\S+)\/eviction -f -$/,
    (store, _, namespace, name) => store.evict({ namespace: namespace, name: name }),
  ],
];

export async function kubectl(store: ClusterStore, command: string): Promise<void> {
  for (const [form, run] of RULES) {
    const found = form.exec(command);
    if (found === null) continue;
    await run(store, ...found.slice(1));
    return;
  }
  throw new Error(`no known form of kubectl: ${command}`);
}
