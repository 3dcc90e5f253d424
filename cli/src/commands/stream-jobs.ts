import { isStoreError, KINDS } from "@isochrone/kubernetes";
import { CommandError } from "../errors.ts";
import { graphClientOf, type GraphServerOptions } from "../graph-client.ts";
import { openStore } from "../kubernetes.ts";
import { DEFAULT_SERVER } from "../program-options.ts";
import { formatted, type Format } from "../output/format.ts";
import { flowsText, flowViews } from "../streams/flows-text.ts";
import { jobsText, jobText, jobView, servedJobView } from "../streams/job-view.ts";

interface ClusterOptions extends GraphServerOptions {
  readonly namespace?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly output: Format;
}

type Print = (text: string) => void;

export async function streamsCommand(options: ClusterOptions, print: Print): Promise<void> {
  if (!isOfCluster(options)) {
    const jobs = (await servedJobs(options)).filter(
      (job) => options.namespace === undefined || job.namespace === options.namespace,
    );
    return print(formatted(options.output, jobs, jobsText));
  }
  const opened = openStore(options.kubeconfig, options.context);
  try {
    const { namespace } = options;
    const { items } = await opened.store.list(KINDS.streamJob, namespace === undefined ? {} : { namespace });
    const jobs = items
      .map(jobView)
      .sort((a, b) => (`${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1));
    print(formatted(options.output, jobs, jobsText));
  } catch (error) {
    throw isStoreError(error, "not_found") ? noDefinition(error) : error;
  } finally {
    await opened.close();
  }
}

export async function explainStreamJob(name: string, options: ClusterOptions, print: Print): Promise<void> {
  const { namespace = "default" } = options;
  if (!isOfCluster(options)) {
    const job = (await servedJobs(options)).find(
      (each) => each.namespace === namespace && each.name === name,
    );
    if (job === undefined) throw new CommandError(`there is no StreamJob ${namespace}/${name}`);
    return print(formatted(options.output, job, jobText));
  }
  const opened = openStore(options.kubeconfig, options.context);
  try {
    const object = await opened.store.get({ ...KINDS.streamJob, namespace, name });
    if (object === null) throw new CommandError(`there is no StreamJob ${namespace}/${name}`);
    print(formatted(options.output, jobView(object), jobText));
  } finally {
    await opened.close();
  }
}

/** KUBECONFIG selects the cluster unless a server address is given. */
function isOfCluster({ kubeconfig, context, server }: ClusterOptions): boolean {
  if (kubeconfig !== undefined || context !== undefined) return true;
  const { KUBECONFIG } = process.env;
  return server === DEFAULT_SERVER && Boolean(KUBECONFIG);
}

async function servedJobs(options: GraphServerOptions) {
  const { value } = await graphClientOf(options).streams();
  return value.jobs
    .map(servedJobView)
    .sort((a, b) => (`${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1));
}

function noDefinition(cause: unknown): CommandError {
  return new CommandError(
    "the cluster has no definition of StreamJob: isochrone crds apply helm/isochrone/crds",
    {
      cause,
    },
  );
}

export async function flowsCommand(
  node: string | undefined,
  options: GraphServerOptions & { readonly output: Format },
  print: Print,
): Promise<void> {
  const client = graphClientOf(options);
  const [{ value: plans }, { graphs }] = await Promise.all([
    client.flowPlans(),
    client.workflowChanges(null),
  ]);
  print(formatted(options.output, flowViews(plans, graphs, node ?? null), flowsText));
}
