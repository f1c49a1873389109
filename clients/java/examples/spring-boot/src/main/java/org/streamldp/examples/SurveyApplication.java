package org.streamldp.examples;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;
import org.streamldp.client.CollectionSpec;
import org.streamldp.client.DataException;
import org.streamldp.client.FileStore;
import org.streamldp.client.Gateway;
import org.streamldp.client.Ledger;
import org.streamldp.client.Receipt;
import org.streamldp.client.ReportRefusedException;
import org.streamldp.client.Reporter;
import org.streamldp.client.Terms;

/** An application whose users answer a survey: it reports each answer with noise, and keeps none. */
@SpringBootApplication
public class SurveyApplication {
  public static void main(String[] arguments) {
    SpringApplication.run(SurveyApplication.class, arguments);
  }

  @Bean
  Reporter reporter(@Value("${survey.gateway}") String url, @Value("${survey.collection}") String name) {
    Gateway gateway = Gateway.at(url).build();
    CollectionSpec survey = gateway.collection(name);
    return Reporter.of(survey, gateway).build();
  }

  @RestController
  static class Answers {
    private final Reporter reporter;
    private final Path ledgers;

    Answers(Reporter reporter, @Value("${survey.ledgers}") Path ledgers) {
      this.reporter = reporter;
      this.ledgers = ledgers;
    }

    @PostMapping("/users/{user:[0-9]+}/answers")
    List<String> report(@PathVariable String user, @RequestBody Map<String, Object> record) {
      Ledger ledger = Ledger.openOrCreate(FileStore.at(ledgers.resolve(user)), Terms.budget(4).build());
      // For the user alone: what has left, and what it tells at most.
      return reporter.report(record, ledger).stream().map(Receipt::toString).toList();
    }

    @ExceptionHandler(ReportRefusedException.class)
    @ResponseStatus(HttpStatus.CONFLICT)
    String refused(ReportRefusedException why) {
      return why.getMessage();
    }

    @ExceptionHandler(DataException.class)
    @ResponseStatus(HttpStatus.BAD_REQUEST)
    String wrong(DataException why) {
      return why.getMessage();
    }
  }
}
