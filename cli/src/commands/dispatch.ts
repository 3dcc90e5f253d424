import { KINDS } from "@isochrone/kubernetes";
import { adviceText, dispatchAdvice } from "../dispatch/advice.ts";
import { readRequests, requestsText } from "../dispatch/requests.ts";
import { dispatchStatus, statusText } from "../dispatch/status.ts";
import { CommandError } from "../errors.ts";
import { graphClientOf, type GraphServerOptions } from "../graph-client.ts";
import { openStore } from "../kubernetes.ts";
import type { Format } from "../output/format.ts";
import { show, viewOf, type Print, type View } from "../output/show.ts";

interface StatusOptions extends GraphServerOptions {
  readonly output: Format;
  /** Refresh interval, ms; undefined: print once. */
  readonly watch?: number;
}

interface AdviseOptions extends StatusOptions {
  readonly kubeconfig?: string;
  /** Kubeconfig context. @default the current one */
  readonly context?: string;
}

interface RequestsOptions {
  readonly server: string;
  readonly limit: number;
  readonly output: Format;
  readonly watch?: number;
}

export async function explainRequestsCommand(
  [namespace, name]: readonly [string, string],
  options: RequestsOptions,
  print: Print,
): Promise<void> {
  const service = `${namespace}/${name}`;
  const text = (requests: Awaited<ReturnType<typeof readRequests>>): string =>
    requestsText(requests, service);
  const read = async (): Promise<View> =>
    viewOf(await readRequests(options.server, service, options.limit), { text });
  await show(read, options, print);
}

export async function statusCommand(options: StatusOptions, print: Print): Promise<void> {
  const client = graphClientOf(options);
  const read = async (): Promise<View> =>
    viewOf(dispatchStatus((await client.traffic()).value), { text: statusText });
  await show(read, options, print);
}

export async function adviseCommand(
  [namespace, name]: readonly [string, string],
  options: AdviseOptions,
  print: Print,
): Promise<void> {
  const client = graphClientOf(options);
  const opened = openStore(options.kubeconfig, options.context);
  const { store } = opened;
  const read = async (): Promise<View> => {
    const service = await store.get({ ...KINDS.service, namespace, name });
    if (service === null) throw new CommandError(`there is no Service ${namespace}/${name}`);
    const labels = { "kubernetes.io/service-name": name };
    const { items: slices } = await store.list(KINDS.endpointSlice, { namespace, labels });
    const [{ value: graph }, { value: demand }] = await Promise.all([client.cluster(), client.demand()]);
    return viewOf(dispatchAdvice({ service, slices, graph, demand }), { text: adviceText });
  };
  try {
    await show(read, options, print);
  } finally {
    await opened.close();
  }
}
