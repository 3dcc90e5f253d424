// The images: where each program begins, and what of its packages it never uses in one.

interface Component {
  /** Its folder, whose src/main.ts runs. */
  readonly folder: string;
  /** Packages that are left out though some module names them. */
  readonly without: readonly string[];
  /** Whether it runs for long: its modules are bundled then, for its memory. */
  readonly isService: boolean;
}

/** In a pod the account's own token is used, and no kubeconfig is read; that is all this client is for. */
const IN_A_POD = ["@kubernetes/client-node"];
/**
 * The module that loads net-ping, by a name that isn't seen in its code: images have that package only where
 * it is asked for. Its native part wants a compiler, and the kernel's own sockets are what a pod uses.
 */
export const NET_PING = { package: "net-ping", module: "probe/src/icmp/net-ping/module.ts" } as const;

export const COMPONENTS: Readonly<Record<string, Component>> = {
  probe: { folder: "probe", without: [], isService: true },
  collector: { folder: "collector", without: IN_A_POD, isService: true },
  "network-manager": { folder: "network-manager", without: [], isService: true },
  dispatcher: { folder: "dispatcher", without: IN_A_POD, isService: true },
  aggregator: { folder: "aggregator", without: IN_A_POD, isService: true },
  "scheduler-plugin": { folder: "scheduler-plugin", without: IN_A_POD, isService: true },
  cli: { folder: "cli", without: [], isService: false },
};

export const KAFKA_CLIENTS: Readonly<Record<string, readonly string[]>> = {
  platformatic: ["@platformatic/kafka", "@platformatic/wasm-utils"],
  kafkajs: ["kafkajs"],
};

/**
 * Packages that are no part of a bundle: they hold native parts or programs that they start, or are chosen
 * when an image is built.
 */
export const UNBUNDLED: readonly string[] = [
  "koffi",
  NET_PING.package,
  ...Object.values(KAFKA_CLIENTS).flat(),
];

/**
 * Folders of workspace packages that are read at run time rather than imported, as far as they are there. Of
 * the web page that is its build, which is to be made before: the Dockerfile says how.
 */
export const ASSETS: Readonly<Record<string, readonly string[]>> = {
  dashboard: ["dist"],
  "packages/lab": ["data", "manifests"],
  experiments: ["scenarios"],
};
