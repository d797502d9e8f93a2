/** What the published system's paper says of itself and of Docker (arXiv 2602.11210). */

/** The machine of the paper: not this one. */
export const PAPER_MACHINE = "184 cores, 32 of them used, 800 GB of SSD";

/** Seconds until so many environments are prepared, on one node. */
export const PAPER_PREPARATION: readonly {
  readonly count: number;
  readonly docker: number;
  readonly published: number;
}[] = [
  { count: 64, docker: 66.75, published: 11.15 },
  { count: 128, docker: 87.45, published: 20.09 },
  { count: 256, docker: 123.79, published: 116.25 },
];

/** The shares of its preparation, in percent. */
export const PAPER_PHASES: Readonly<Record<string, number>> = {
  "start of the deployment": 35.3,
  "copy of the venv": 34.8,
  "copy and reset of the repository": 17.7,
  other: 9.7,
  tools: 2.5,
};
