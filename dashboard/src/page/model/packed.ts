// How the worker's results reach the main thread. Objects that are posted are rebuilt there one by one, a
// thousand nodes at each version; so lists go as text, which is copied at once, is read only by whoever looks
// at it, and is not read again while it stays the same.
import type { ClusterNode } from "@isochrone/topology";
import { keysOf, recordOf } from "@isochrone/primitives";
import type { Digest } from "./summary.ts";
import type { Grid } from "./grid.ts";
import type { ClusterView, Pairs } from "./cluster-view.ts";

export interface PackedView extends Omit<ClusterView, "nodes"> {
  readonly nodesText: string;
  readonly digest: Omit<Digest, "head">;
  readonly headText: string;
}

export interface PackedGrid extends Omit<Grid, "labels"> {
  readonly labelsText: string;
}

/** The view stays usable here: its pairs are copied. What is in the list moves with the message. */
export function packView(
  { nodes, pairs, ...view }: ClusterView,
  { head, ...digest }: Digest,
): { readonly packed: PackedView; readonly moved: ArrayBuffer[] } {
  const copy = copyOf(pairs);
  const columns = [copy.rowStart, copy.column, copy.flags, ...Object.values(copy.figures)];
  return {
    packed: {
      ...view,
      pairs: copy,
      nodesText: JSON.stringify(nodes),
      digest,
      headText: JSON.stringify(head),
    },
    moved: columns.map(({ buffer }) => buffer as ArrayBuffer),
  };
}

function copyOf({ rowStart, column, flags, figures }: Pairs): Pairs {
  return {
    rowStart: rowStart.slice(),
    column: column.slice(),
    flags: flags.slice(),
    figures: recordOf(keysOf(figures), (name) => figures[name].slice()),
  };
}

export function packGrid({ labels, ...grid }: Grid): {
  readonly packed: PackedGrid;
  readonly moved: ArrayBuffer[];
} {
  return {
    packed: { ...grid, labelsText: JSON.stringify(labels) },
    moved: [grid.values.buffer, grid.cells.buffer] as ArrayBuffer[],
  };
}

/** A list that is read from its text when it is first looked at. */
class Texts<T> {
  #text = "";
  #value: T | null = null;

  of(text: string): T {
    if (this.#value === null || this.#text !== text)
      [this.#text, this.#value] = [text, JSON.parse(text) as T];
    return this.#value;
  }
}

/** Unpacks one thing after another; equal lists are the same one. */
export class Unpacker {
  readonly #nodes = new Texts<readonly ClusterNode[]>();
  readonly #head = new Texts<readonly ClusterNode[]>();
  readonly #labels = new Texts<readonly string[]>();

  view({ nodesText, headText, digest, ...view }: PackedView): {
    readonly view: ClusterView;
    readonly digest: Digest;
  } {
    const texts = this.#nodes;
    return {
      view: {
        ...view,
        get nodes() {
          return texts.of(nodesText);
        },
      },
      digest: { ...digest, head: this.#head.of(headText) },
    };
  }

  grid({ labelsText, ...grid }: PackedGrid): Grid {
    return { ...grid, labels: this.#labels.of(labelsText) };
  }
}
