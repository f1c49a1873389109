// A view of a collection with one series of windows; views of other collections replace what differs.
export const plain = {
  series: () => "",
  track: () => "",
  label: () => "",
  settled: (answers) => answers.filter((each) => each.final).at(-1),
};
