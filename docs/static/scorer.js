/* Sphinx's weights for search results; of objects of one name, those of a store or a kernel come first. */
var Scorer = {
  score: ([, title, , , score]) => score + (/^hatch_cuda_kernels\.(Store|Kernel)\.\w+$/.test(title) ? 1 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
