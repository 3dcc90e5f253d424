import type { Bill } from "@isochrone/topology";
import { graphClientOf, type GraphServerOptions } from "../graph-client.ts";
import { billText } from "./bill-text.ts";
import type { BillSort, Format } from "../output/format.ts";
import { show, viewOf, type Print, type View } from "../output/show.ts";

interface BillOptions extends GraphServerOptions {
  readonly output: Format;
  readonly by: BillSort;
  readonly limit: number;
  readonly namespace?: string;
  /** Refresh interval, ms; undefined: print once. */
  readonly watch?: number;
}

export async function billCommand(options: BillOptions, print: Print): Promise<void> {
  const client = graphClientOf(options);
  const { by, limit, namespace } = options;
  const query = { limit, ...(namespace === undefined ? {} : { namespace }) };
  const read = async (): Promise<View> => {
    const { value } = await client.bill(query);
    return viewOf<Bill>(value, { text: (bill) => billText(bill, by) });
  };
  await show(read, options, print);
}
