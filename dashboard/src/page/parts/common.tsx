import type { ComponentChildren, VNode } from "preact";
import { useRef } from "preact/hooks";
import { age, clockTime, UNKNOWN } from "../model/format.ts";
import { LONG_WAIT_MS, waitingWords } from "../model/waiting.ts";
import { oldestRequest } from "../state/session.ts";
import { connection, nowMs } from "../state/store.ts";
import { askReadiness, readiness } from "../state/waiting.ts";

export function Card(props: {
  readonly title: string;
  readonly id?: string;
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
  readonly class?: string;
}): VNode {
  const id = `${props.id ?? props.title.toLowerCase().replaceAll(/[^a-z]+/g, "-")}-title`;
  return (
    <section class={`card ${props.class ?? ""}`} aria-labelledby={id}>
      <header class="card-head">
        <h2 id={id}>{props.title}</h2>
        {props.aside}
      </header>
      {props.children}
    </section>
  );
}

export function Lead(props: { readonly children: ComponentChildren }): VNode {
  return <p class="page-lead">{props.children}</p>;
}

export function Empty(props: { readonly title: string; readonly children?: ComponentChildren }): VNode {
  return (
    <div class="empty">
      <p class="empty-title">{props.title}</p>
      {props.children === undefined ? null : <p>{props.children}</p>}
    </div>
  );
}

export function Trouble(props: { readonly title: string; readonly children?: ComponentChildren }): VNode {
  return (
    <div class="empty trouble">
      <p class="empty-title">{props.title}</p>
      {props.children === undefined ? null : <p>{props.children}</p>}
    </div>
  );
}

export function Loading(props: { readonly lines?: number }): VNode {
  return (
    <div class="loading">
      <span class="unseen" role="status">
        Loading
      </span>
      <WaitReason />
      {Array.from({ length: props.lines ?? 3 }, (_, index) => (
        <i key={index} />
      ))}
    </div>
  );
}

export function WaitReason(): VNode | null {
  const began = useRef(performance.now());
  void nowMs.value;
  const waitedMs = performance.now() - began.current;
  if (waitedMs >= LONG_WAIT_MS) void askReadiness();
  const words = waitingWords({
    waitedMs,
    request: oldestRequest(),
    readiness: readiness.value,
    isStreaming: connection.value.state === "live",
  });
  return words === null ? null : <p class="soft wait-reason">{words}</p>;
}

/** Isolates the text direction of untrusted names. */
export function Name(props: { readonly children: string; readonly title?: string }): VNode {
  return (
    <bdi class="name" title={props.title ?? props.children}>
      {props.children}
    </bdi>
  );
}

interface Column {
  readonly title: string;
  /** False: right-aligned figures. */
  readonly isText?: boolean;
  /** Reason for an empty column. Text columns without one are always shown. */
  readonly lack?: string;
}

/** A horizontally scrolling table. Omits columns without values and says so. */
export function Table(props: {
  readonly label: string;
  readonly columns: readonly Column[];
  readonly rows: readonly {
    readonly key: string;
    readonly cells: readonly ComponentChildren[];
    readonly class?: string;
  }[];
  readonly id?: string;
}): VNode {
  const columns = props.columns.map((column, index) => ({ ...column, index }));
  const isShown = ({ isText, lack, index }: (typeof columns)[number]): boolean =>
    (isText === true && lack === undefined) ||
    props.rows.length === 0 ||
    props.rows.some(({ cells }) => cells[index] !== UNKNOWN);
  const shown = columns.filter(isShown);
  return (
    <>
      <div class="scroll" id={props.id} tabIndex={0} role="region" aria-label={`table of ${props.label}`}>
        <table>
          <thead>
            <tr>
              {shown.map(({ title, isText }) => (
                <th key={title} scope="col" class={isText === true ? "text" : ""}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {props.rows.map(({ key, cells, class: kind }) => (
              <tr key={key} class={kind}>
                {shown.map(({ index, isText, title }) => (
                  <td key={index} class={isText === true ? "text" : ""} data-title={title}>
                    {cells[index]}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Hidden columns={columns.filter((column) => !isShown(column))} />
    </>
  );
}

function Hidden({ columns }: { readonly columns: readonly Column[] }): VNode | null {
  if (columns.length === 0) return null;
  const words = columns.map(({ title, lack }) => `${title} (${lack ?? "no row has a value"})`);
  return <p class="soft hidden-columns">Hidden: {words.join("; ")}.</p>;
}

export function Tile(props: {
  readonly label: string;
  readonly value: ComponentChildren;
  readonly note?: ComponentChildren;
  readonly state?: "good" | "warn" | "bad";
}): VNode {
  return (
    <div class={`tile ${props.state ?? ""}`}>
      <dt>{props.label}</dt>
      <dd>
        {props.value}
        {props.note === undefined ? null : <small>{props.note}</small>}
      </dd>
    </div>
  );
}

export function When(props: { readonly at: string }): VNode {
  const seconds = (nowMs.value - Date.parse(props.at)) / 1000;
  return (
    <time dateTime={props.at} title={props.at}>
      {clockTime(props.at, nowMs.value)} <small>{seconds < 1 ? "just now" : `${age(seconds)} ago`}</small>
    </time>
  );
}
