"""The three papers, with all that the page says of each."""

from tests.benchmarks.papers import chu_long_liu, claims, slips, ye_meng_zhu_huo, zhu_yang_bai
from tests.benchmarks.papers.paper import Paper

PAPERS = (
    Paper(
        key="joints",
        name="Joint distributions",
        cited="Chu X.-J., Long S.-G., Liu H.: Joint distribution estimation for multidimensional data based on LDP. "
        "Computer Systems and Applications 31(8), 2022",
        about="RR-LDP perturbs records; EM, LASSO and LREMH estimate joint distributions from them. In a collection "
        "file, `stop: paper` asks for the published form of an estimator.",
        studies=chu_long_liu.STUDIES,
        figures=chu_long_liu.FIGURES,
        claims=claims.OF_JOINTS,
        slips=slips.OF_JOINTS,
    ),
    Paper(
        key="items",
        name="Frequent items",
        cited="Zhu M.-Q., Yang G., Bai Y.-L.: Frequent items mining for local differential privacy protection. "
        "Computer Technology and Development 31(8), 2021",
        about="GFIM finds the most frequent items of sets, in two phases and two groups of users; LDPMiner is what "
        "it is compared with. `hash_bits: 1` and `combine: paper` ask for the published form of either.",
        studies=zhu_yang_bai.STUDIES,
        figures=zhu_yang_bai.FIGURES,
        claims=claims.OF_ITEMS,
        slips=slips.OF_ITEMS,
    ),
    Paper(
        key="survey",
        name="The survey",
        cited="Ye Q.-Q., Meng X.-F., Zhu M.-J., Huo Z.: Survey on local differential privacy. Journal of Software "
        "29(7), 2018",
        about="It compares sixteen mechanisms. The product has them all. Its experiments show RAPPOR for frequencies "
        "and Harmony-Mean for means.",
        studies=ye_meng_zhu_huo.STUDIES,
        figures=ye_meng_zhu_huo.FIGURES,
        claims=claims.OF_SURVEY,
        slips=slips.OF_SURVEY,
    ),
)
