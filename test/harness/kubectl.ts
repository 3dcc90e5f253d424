import { KINDS, type ClusterStore } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";

const RULES: readonly (readonly [RegExp, (store: ClusterStore, ...found: string[]) => Promise<unknown>])[] = [
  [
    /^kubectl -n (\S+) patch service (\S+) --type merge -p '(.*)'$/,
    (store, namespace, name, patch) =>
      store.patch({ ...KINDS.service, namespace: namespace, name: name }, looseFields(JSON.parse(patch))),
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
