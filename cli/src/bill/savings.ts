import type { Savings, SavingsLine } from "@isochrone/topology";
import { CommandError } from "../errors.ts";
import { graphClientOf, type GraphServerOptions } from "../graph-client.ts";
import type { Format } from "../output/format.ts";
import { show, viewOf, type Print, type View } from "../output/show.ts";
import { savingsText } from "./savings-text.ts";

interface SavingsOptions extends GraphServerOptions {
  readonly output: Format;
  readonly limit: number;
  readonly namespace?: string;
  /** Refresh interval, ms; undefined: print once. */
  readonly watch?: number;
}

/** More entries than a cluster has; filtered afterwards. */
const ALL = 10_000;

/** @param of a workflow or Service; then prints the steps and obstacles too */
export async function savingsCommand(
  of: readonly [namespace: string, name: string] | undefined,
  options: SavingsOptions,
  print: Print,
): Promise<void> {
  const client = graphClientOf(options);
  const [namespace = options.namespace, name] = of ?? [];
  const query = {
    limit: name === undefined ? options.limit : ALL,
    ...(namespace === undefined ? {} : { namespace }),
  };
  const read = async (): Promise<View> => {
    const { value } = await client.savings(query);
    if (value.trouble !== null) throw new CommandError(`nothing can be said of savings: ${value.trouble}`);
    const shown = name === undefined ? value : { ...value, lines: named(value, namespace!, name) };
    return viewOf<Savings>(shown, { text: (savings) => savingsText(savings, name !== undefined) });
  };
  await show(read, options, print);
}

/** A workflow and a Service may share a name. Throws CommandError. */
function named({ lines }: Savings, namespace: string, name: string): SavingsLine[] {
  const found = lines.filter((line) => line.name === name && line.namespace === namespace);
  if (found.length === 0)
    throw new CommandError(
      `no workflow with traffic, and no Service that is called, has the name ${JSON.stringify(`${namespace}/${name}`)}`,
    );
  return found;
}
